import { type Clock, systemClock, type Timer } from "../protocol/clock.ts";
import type { Link } from "../protocol/link.ts";
import { GatheredCalls } from "./gathered-calls.ts";

export interface BatchingOptions {
  /** How long calls are gathered; 0 gathers those of one turn of the event loop. @default 0 */
  readonly windowMs?: number;
  /** Most calls in a batch; a server refuses longer ones. @default 100 */
  readonly max?: number;
  /** The clock of the window, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock | undefined;
}

/**
 * Sends the calls that are made close together as one payload.
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
  };
}
