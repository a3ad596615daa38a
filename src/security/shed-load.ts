import { type Clock, systemClock } from "../protocol/clock.ts";
import type { Handle, Middleware } from "../protocol/handle.ts";
import { limitOf } from "../protocol/limits.ts";
import { failure } from "../protocol/message.ts";
import { Overload } from "../protocol/overload.ts";
import { serverBusy } from "../protocol/standard-errors.ts";
import type { Refusal } from "./access-errors.ts";

export interface ShedLoadOptions {
  /** How late the event loop may be, turn after turn for ten times as long, before calls are refused. @default 200 */
  readonly maxLagMs?: number;
  /** Measures the delay; tests pass their own. @default systemClock */
  readonly clock?: Clock;
}

/**
 * Refuses calls that arrive faster than they can run, with 503 on HTTP. A server does so by itself (`overload`), and
 * sooner; this is for one whose guards before it should see the refused calls too.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { shedLoad } from "callwire/security";
 *
 * const server = createServer(methods, { use: [shedLoad({ maxLagMs: 200 })] });
 * ```
 */
export function shedLoad({
  maxLagMs = 200,
  clock = systemClock,
}: ShedLoadOptions = {}): Middleware {
  const overload = new Overload(clock, { maxDelayMs: limitOf("maxLagMs", maxLagMs) });
  const error: Refusal = { ...serverBusy, reason: "calls arrive faster than they can run" };
  const refused = failure(error);
  const wrap =
    (next: Handle): Handle =>
    (request, context) =>
      overload.take(context.transport) || request.id === undefined
        ? next(request, context)
        : refused;
  return Object.assign(wrap, { guards: "load shedding" });
}
