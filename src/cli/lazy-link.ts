import type { Link, Outgoing, Reply, Request } from "callwire";

/** A link that is opened when it is first used; where that fails, the next call tries again. */
export function lazyLink(open: () => Promise<Link>): Link {
  let ready: Link | undefined;
  let opening: Promise<Link> | undefined;
  const opened = (): Promise<Link> => {
    opening ??= open().then(
      (link) => {
        ready = link;
        return link;
      },
      (error: unknown) => {
        opening = undefined;
        throw error;
      },
    );
    return opening;
  };
  return {
    send(request, outgoing) {
      if (ready !== undefined) return ready.send(request, outgoing);
      const call = new WaitingCall(request, outgoing);
      const send = (link: Link): void => {
        if (call.isWanted()) call.resolve(link.send(request, outgoing));
      };
      opened().then(send).catch(call.reject);
      return call.reply;
    },
    sendBatch(requests, outgoing) {
      if (ready !== undefined) return ready.sendBatch(requests, outgoing);
      const calls = requests.map((each, i) => new WaitingCall(each, outgoing[i] as Outgoing));
      const send = (link: Link): void => {
        const wanted = calls.filter((call) => call.isWanted());
        if (wanted.length === 0) return;
        const replies = link.sendBatch(
          wanted.map(({ request }) => request),
          wanted.map((call) => call.outgoing),
        );
        for (const [i, call] of wanted.entries()) call.resolve(replies[i]);
      };
      opened()
        .then(send)
        .catch((error: unknown) => {
          for (const call of calls) call.reject(error);
        });
      return calls.map(({ reply }) => reply);
    },
    close: async () => (await opening?.catch(() => undefined))?.close(),
  };
}

/** A call that waits for its link to open. Who cancels it meanwhile must not find it sent afterwards. */
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
    outgoing.cancel = (error) => {
      outgoing.cancel = undefined;
      this.#isCancelled = true;
      this.reject(error);
    };
  }

  /** Asked in the turn in which it is sent, so that no cancel falls in between. */
  isWanted(): boolean {
    if (this.#isCancelled) return false;
    this.outgoing.cancel = undefined;
    return true;
  }
}
