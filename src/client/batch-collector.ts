import type { Link, Outgoing } from "../protocol/link.ts";
import type { Reply, Request } from "../protocol/message.ts";
import { GatheredCalls } from "./gathered-calls.ts";

/** Gathers the calls of one explicit batch and sends them when the last has come through middleware. */
export class BatchCollector {
  readonly #link: Link;
  readonly #payload = new GatheredCalls();
  #expected = Number.POSITIVE_INFINITY;
  #dropped = 0;
  #sent = false;

  constructor(link: Link) {
    this.#link = link;
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    // Middleware tries a call again when the others have long been answered.
    if (this.#sent) return this.#link.send(request, outgoing);
    const reply = this.#payload.add(request, outgoing, () => this.drop());
    this.#sendWhenComplete();
    return reply;
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
    if (this.#sent || this.#payload.size + this.#dropped < this.#expected) return;
    this.#sent = true;
    this.#payload.send(this.#link);
  }
}
