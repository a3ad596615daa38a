import { WireError } from "../protocol/errors.ts";
import type { Link } from "../protocol/link.ts";
import type { Reply } from "../protocol/message.ts";

/** Tries the next link when one cannot connect. A call that may have run is never sent again. */
export function fallback(links: readonly Link[]): Link {
  if (links.length === 0) throw new TypeError("fallback needs at least one link");
  /** The link that worked last is tried first. */
  let preferred = 0;

  async function attempt<T>(run: (link: Link) => Promise<T>): Promise<T> {
    let failed: unknown;
    for (let i = 0; i < links.length; i++) {
      const index = (preferred + i) % links.length;
      try {
        const reply = await run(links[index] as Link);
        preferred = index;
        return reply;
      } catch (error) {
        if (!(error instanceof WireError && error.code === "CONNECTION_FAILED")) throw error;
        failed = error;
      }
    }
    throw failed;
  }

  return {
    send: (request, outgoing) => attempt((link) => link.send(request, outgoing)),
    sendBatch(requests, outgoing) {
      const whole = attempt(async (link) => {
        const replies = link.sendBatch(requests, outgoing);
        const settled = await Promise.allSettled(replies);
        const unsent = settled.find(
          (entry) =>
            entry.status === "rejected" &&
            entry.reason instanceof WireError &&
            entry.reason.code === "CONNECTION_FAILED",
        );
        if (unsent?.status === "rejected") throw unsent.reason;
        return settled;
      });
      return requests.map(async (_, i): Promise<Reply | undefined> => {
        const entry = (await whole)[i];
        if (entry?.status === "rejected") throw entry.reason;
        return entry?.value;
      });
    },
    async close() {
      await Promise.all(links.map((link) => link.close()));
    },
  };
}
