import { type Link, type Outgoing, type Reply, type Request, WireError } from "callwire";
import { oneLine } from "./failure.ts";

export interface OpenedLink extends Link {
  /** Resolves when the link is unusable; the next call opens another. @default never */
  readonly over?: Promise<unknown>;
}

/** A link that opens on first use, and again after it failed or is over. */
export function lazyLink(open: () => Promise<OpenedLink>): Link {
  let ready: Link | undefined;
  let opening: Promise<Link> | undefined;
  let closed = false;
  const waiting = new Set<WaitingCall>();
  const reset = (): void => {
    ready = undefined;
    opening = undefined;
  };
  const opened = (): Promise<Link> => {
    if (closed) return Promise.reject(isClosed());
    opening ??= open().then(
      (link) => {
        ready = link;
        void link.over?.then(reset);
        return link;
      },
      (error: unknown) => {
        reset();
        if (error instanceof WireError) throw error;
        // Nothing was sent, so the caller may retry elsewhere.
        throw new WireError("CONNECTION_FAILED", oneLine(error), { cause: error });
      },
    );
    return opening;
  };
  /** Sends the requests when the link is open, except cancelled ones. */
  const whenOpen = (
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
    send: (link: Link, ...wanted: Parameters<Link["sendBatch"]>) => ReturnType<Link["sendBatch"]>,
  ): readonly Promise<Reply | undefined>[] => {
    const calls = requests.map((request, i) => new WaitingCall(request, outgoing[i] as Outgoing));
    for (const call of calls) waiting.add(call);
    opened()
      .finally(() => {
        for (const call of calls) waiting.delete(call);
      })
      .then((link) => {
        const wanted = calls.filter((call) => call.isWanted());
        if (wanted.length === 0) return;
        const replies = send(
          link,
          wanted.map((call) => call.request),
          wanted.map((call) => call.outgoing),
        );
        for (const [i, call] of wanted.entries()) call.resolve(replies[i]);
      })
      .catch((error: unknown) => {
        for (const call of calls) call.reject(error);
      });
    return calls.map(({ reply }) => reply);
  };
  return {
    carriesBytes: async () => {
      const { carriesBytes } = ready ?? (await opened());
      return typeof carriesBytes === "function" ? carriesBytes() : carriesBytes === true;
    },
    send(request, outgoing) {
      if (ready !== undefined) return ready.send(request, outgoing);
      const alone = (link: Link) => [link.send(request, outgoing)];
      return whenOpen([request], [outgoing], alone)[0] as Promise<Reply | undefined>;
    },
    sendBatch: (requests, outgoing) =>
      ready?.sendBatch(requests, outgoing) ??
      whenOpen(requests, outgoing, (link, ...wanted) => link.sendBatch(...wanted)),
    async close() {
      closed = true;
      for (const call of waiting) call.cancel(isClosed());
      if (ready !== undefined) return ready.close();
      // Don't wait for a silent server; close the link if it opens later.
      opening?.then((link) => link.close()).catch(() => {});
    },
  };
}

function isClosed(): WireError {
  return new WireError("CLOSED", "the link is closed");
}

/** A call that waits for its link to open; if it is cancelled meanwhile, it is never sent. */
class WaitingCall {
  readonly request: Request;
  readonly outgoing: Outgoing;
  readonly reply: Promise<Reply | undefined>;
  resolve!: (reply: Promise<Reply | undefined> | undefined) => void;
  reject!: (error: unknown) => void;
  #isCancelled = false;

  constructor(request: Request, outgoing: Outgoing) {
    this.request = request;
    this.outgoing = outgoing;
    this.reply = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    outgoing.cancel = (error) => this.cancel(error);
  }

  cancel(error: unknown): void {
    this.outgoing.cancel = undefined;
    this.#isCancelled = true;
    this.reject(error);
  }

  /** Call this in the same turn as the send, so that no cancel can come between. */
  isWanted(): boolean {
    if (this.#isCancelled) return false;
    this.outgoing.cancel = undefined;
    return true;
  }
}
