import type { Clock } from "./clock.ts";

/** A call that may time out. */
export interface Timed {
  /** When it times out, on the scale of `elapsed`. */
  readonly dueAt: number | undefined;
  /** Difference between `now` and `elapsed`; set when the deadline is first read. */
  epochOffset: number | undefined;
}

/** A larger difference means that the clock was set; a smaller one is rounding or slow correction. */
const stepMs = 50;

/** When a call times out, in milliseconds since the epoch. Constant until the clock is set. */
export function deadlineOf(call: Timed, clock: Clock): number | undefined {
  if (call.dueAt === undefined) return undefined;
  const offset = clock.now() - clock.elapsed();
  if (call.epochOffset === undefined || Math.abs(offset - call.epochOffset) >= stepMs) {
    call.epochOffset = offset;
  }
  return Math.round(call.dueAt + call.epochOffset);
}
