import { type Clock, forever, systemClock, type Timer } from "../protocol/clock.ts";
import { GatheredCalls } from "../protocol/gathered-calls.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import type { Reply, Request } from "../protocol/message.ts";

export interface BatchingOptions {
  /** How long to collect calls; 0 collects those of one event loop turn. @default 0 */
  readonly windowMs?: number;
  /** Most calls in a batch; servers reject batches over their own `maxBatch`. @default 100 */
  readonly max?: number;
  /** The clock of the window, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock | undefined;
}

/**
 * A link that sends calls made close together as one payload.
 * @example
 * ```ts
 * import { batching, createClient } from "callwire";
 * import { httpLink } from "callwire/http";
 *
 * const link = batching(httpLink("http://127.0.0.1:8000/rpc"), { windowMs: 5, max: 50 });
 * const client = createClient<typeof methods>(link);
 * await Promise.all([client.api.echo("one"), client.api.echo("two")]); // one HTTP request
 * ```
 */
export function batching(link: Link, options: BatchingOptions = {}): Link {
  const { windowMs = 0, max = 100, clock = systemClock } = options;
  const payload = new GatheredCalls();
  let timer: Timer | undefined;

  const flush = (): void => {
    timer?.cancel();
    timer = undefined;
    payload.send(link, true);
  };

  return {
    send(request, outgoing) {
      // Files travel with a request of their own.
      if (request.attachments) return link.send(request, outgoing);
      const reply = payload.add(request, outgoing);
      if (payload.size >= max) flush();
      else if (payload.size === 1) {
        if (windowMs === 0) queueMicrotask(flush);
        else timer ??= clock.after(windowMs, flush, true);
      }
      return reply;
    },
    sendBatch: (requests, outgoing) => link.sendBatch(requests, outgoing),
    close() {
      flush();
      return link.close();
    },
    address: link.address,
    states: link.states,
    carriesBytes: link.carriesBytes,
  };
}

/** Collects the calls of one explicit batch and sends them when the last has passed the middleware. */
export class BatchCollector {
  readonly #link: Link;
  readonly #payload = new GatheredCalls();
  #expected = forever;
  #dropped = 0;
  #sent = false;

  constructor(link: Link) {
    this.#link = link;
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    // A retry by middleware comes after the batch was sent.
    if (this.#sent) return this.#link.send(request, outgoing);
    const reply = this.#payload.add(request, outgoing, () => this.drop());
    this.#sendWhenComplete();
    return reply;
  }

  /** A call of the batch will not be sent: middleware answered it, or it was cancelled. */
  drop(): void {
    this.#dropped++;
    this.#sendWhenComplete();
  }

  /** The batch consists of this many calls. */
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
