import { WireError } from "../protocol/errors.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import type { Reply, Request } from "../protocol/message.ts";

interface Entry {
  readonly request: Request;
  readonly outgoing: Outgoing;
  readonly resolve: (reply: Promise<Reply | undefined>) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls that wait to travel together. */
export class GatheredCalls {
  #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  /** `left` runs when the caller gives up before the payload leaves; the call is then not sent. */
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

  /** Sends what was gathered; every call settles, whatever the link does. */
  send(link: Link): void {
    const entries = this.#entries;
    this.#entries = [];
    for (const { outgoing } of entries) outgoing.cancel = undefined;
    if (entries.length === 0) return;
    try {
      const replies = link.sendBatch(
        entries.map((entry) => entry.request),
        entries.map((entry) => entry.outgoing),
      );
      entries.forEach((entry, i) => {
        entry.resolve(replies[i] ?? Promise.reject(unanswered()));
      });
    } catch (error) {
      for (const { reject } of entries) reject(error);
    }
  }

  /** The same for one call, which needs no batch around it. */
  sendSingle(link: Link): void {
    const [entry] = this.#entries;
    this.#entries = [];
    if (entry === undefined) return;
    entry.outgoing.cancel = undefined;
    try {
      entry.resolve(link.send(entry.request, entry.outgoing));
    } catch (error) {
      entry.reject(error);
    }
  }
}

function unanswered(): WireError {
  return new WireError("BAD_REPLY", "the link gave no answer to this call of the batch");
}
