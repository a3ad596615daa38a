import type { Handle, Middleware } from "../protocol/handle.ts";
import { limitOf } from "../protocol/limits.ts";
import { failure } from "../protocol/message.ts";
import { overloaded } from "./refusals.ts";

export interface ShedLoadOptions {
  /** How late the event loop may be before calls are refused. @default 200 */
  readonly maxLagMs?: number;
  /** How often it is looked at, while there are calls. @default 20 */
  readonly sampleMs?: number;
}

/**
 * Refuses calls while the event loop lags, with 503 on HTTP: what cannot be answered in time had
 * better be answered at once.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { shedLoad } from "callwire/security";
 *
 * const server = createServer(methods, { use: [shedLoad({ maxLagMs: 200 })] });
 * ```
 */
export function shedLoad({ maxLagMs = 200, sampleMs = 20 }: ShedLoadOptions = {}): Middleware {
  limitOf("maxLagMs", maxLagMs);
  const lag = lagOf(sampleMs);
  const refused = failure(overloaded("the event loop lags"));
  const wrap =
    (next: Handle): Handle =>
    (request, context) =>
      lag() > maxLagMs ? refused : next(request, context);
  return Object.assign(wrap, { guards: "load shedding" });
}

/** How late a timer was last; one is under way only while somebody asks. */
function lagOf(sampleMs: number): () => number {
  let lagMs = 0;
  let startedAt: number | undefined;
  let landedAt = 0;
  const land = (): void => {
    landedAt = performance.now();
    lagMs = Math.max(0, landedAt - (startedAt ?? 0) - sampleMs);
    startedAt = undefined;
  };
  return () => {
    const now = performance.now();
    if (startedAt === undefined) {
      startedAt = now;
      const timer: unknown = setTimeout(land, sampleMs);
      // In Node a timer keeps the process alive.
      (timer as { unref?: () => void }).unref?.();
    }
    // Where nobody asked for long, what was late then says nothing about now.
    return now - landedAt > 10 * sampleMs + 2 * lagMs ? 0 : lagMs;
  };
}
