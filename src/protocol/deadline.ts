import type { Clock } from "./clock.ts";

/** A call that may have to end at some time. */
export interface Timed {
  /** When its time is up, as `elapsed` of the clock measures it. */
  readonly dueAt: number | undefined;
  /** What the time of day is ahead of `elapsed`; set when somebody asks for the deadline. */
  epochOffset: number | undefined;
}

/** From here on the clock was set; less is how it is read, in whole milliseconds, and how it is slowly corrected. */
const stepMs = 50;

/** When the time of a call is up, in milliseconds since the epoch. It stays the same until somebody sets the clock. */
export function deadlineOf(call: Timed, clock: Clock): number | undefined {
  if (call.dueAt === undefined) return undefined;
  const offset = clock.now() - clock.elapsed();
  if (call.epochOffset === undefined || Math.abs(offset - call.epochOffset) >= stepMs) {
    call.epochOffset = offset;
  }
  return Math.round(call.dueAt + call.epochOffset);
}
