import { type Clock, forever, systemClock, type Timer } from "../protocol/clock.ts";
import type { WireError } from "../protocol/errors.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import type { Reply, Request } from "../protocol/message.ts";
import { badReply, leftOut } from "../protocol/pair.ts";

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
      const cancel = (error: WireError): void => {
        outgoing.cancel = undefined;
        this.#entries.splice(this.#entries.indexOf(entry), 1);
        reject(error);
        left?.();
      };
      outgoing.cancel = cancel;
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
