import type { Link } from "callwire";

/** A link that is opened when it is first used; where that fails, the next call tries again. */
export function lazyLink(open: () => Promise<Link>): Link {
  let opened: Promise<Link> | undefined;
  const link = (): Promise<Link> => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  return {
    send: async (request, outgoing) => (await link()).send(request, outgoing),
    sendBatch(requests, outgoing) {
      const sent = link().then((ready) => ready.sendBatch(requests, outgoing));
      return requests.map(async (_, i) => (await sent)[i]);
    },
    close: async () => (await opened?.catch(() => undefined))?.close(),
  };
}
