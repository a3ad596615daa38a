import type { Link, Outgoing } from "../protocol/link.ts";
import type { Reply, Request } from "../protocol/message.ts";

interface Entry {
  readonly request: Request;
  readonly outgoing: Outgoing;
  readonly resolve: (reply: Promise<Reply | undefined>) => void;
}

/** Gathers the calls of one explicit batch and sends them when the last has come through middleware. */
export class BatchCollector {
  readonly #link: Link;
  readonly #entries: Entry[] = [];
  #expected = Number.POSITIVE_INFINITY;
  #dropped = 0;

  constructor(link: Link) {
    this.#link = link;
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    return new Promise((resolve) => {
      this.#entries.push({ request, outgoing, resolve });
      this.#sendWhenComplete();
    });
  }

  /** A call ended before it came here, because middleware answered it or it was cancelled. */
  drop(): void {
    this.#dropped++;
    this.#sendWhenComplete();
  }

  /** No more calls than these are to come. */
  seal(count: number): void {
    this.#expected = count;
    this.#sendWhenComplete();
  }

  #sendWhenComplete(): void {
    if (this.#entries.length === 0 || this.#entries.length + this.#dropped < this.#expected) return;
    const entries = this.#entries.splice(0);
    const replies = this.#link.sendBatch(
      entries.map((entry) => entry.request),
      entries.map((entry) => entry.outgoing),
    );
    entries.forEach((entry, i) => {
      entry.resolve(replies[i] as Promise<Reply | undefined>);
    });
  }
}
