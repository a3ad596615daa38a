import type { Link, Outgoing } from "./link.ts";
import type { Reply, Request } from "./message.ts";
import { badReply, leftOut } from "./pair.ts";

interface Entry {
  readonly request: Request;
  readonly outgoing: Outgoing;
  readonly resolve: (reply: Promise<Reply | undefined>) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls that wait to be sent together. */
export class GatheredCalls {
  #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  /** `left` runs if the caller cancels before the payload is sent; the call is then not sent. */
  add(request: Request, outgoing: Outgoing, left?: () => void): Promise<Reply | undefined> {
    return new Promise((resolve, reject) => {
      const entry: Entry = { request, outgoing, resolve, reject };
      this.#entries.push(entry);
      outgoing.cancel = (error) => {
        outgoing.cancel = undefined;
        this.#entries.splice(this.#entries.indexOf(entry), 1);
        reject(error);
        left?.();
      };
    });
  }

  /**
   * Sends the collected calls in order; every call settles, whatever the link does. With `unasked` (automatic batching)
   * a single call is sent without a batch around it.
   */
  send(link: Link, unasked = false): void {
    const entries = this.#entries;
    this.#entries = [];
    for (const { outgoing } of entries) outgoing.cancel = undefined;
    let shared: Entry[] = [];
    entries.forEach((entry, i) => {
      shared.push(entry);
      if (mayShare(entry.outgoing, entries[i + 1]?.outgoing)) return;
      sendPayload(link, shared, unasked);
      shared = [];
    });
  }

  /** Fails the collected calls. */
  fail(error: unknown): void {
    for (const { outgoing, reject } of this.#entries.splice(0)) {
      outgoing.cancel = undefined;
      reject(error);
    }
  }
}

/** A payload has one set of headers, and its replies come after its last call, which a stream may delay forever. */
function mayShare(a: Outgoing, b: Outgoing | undefined): boolean {
  return b !== undefined && a.headers === b.headers && !(a.read || b.read || a.upload || b.upload);
}

function sendPayload(link: Link, entries: readonly Entry[], unasked: boolean): void {
  const requests = entries.map(({ request }) => request);
  const outgoing = entries.map((entry) => entry.outgoing);
  try {
    const replies =
      entries.length === 1 && (unasked || outgoing[0]?.upload)
        ? [link.send(requests[0] as Request, outgoing[0] as Outgoing)]
        : link.sendBatch(requests, outgoing);
    entries.forEach((entry, i) => {
      entry.resolve(replies[i] ?? Promise.reject(badReply(leftOut)));
    });
  } catch (error) {
    for (const { reject } of entries) reject(error);
  }
}
