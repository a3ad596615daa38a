import { type Clock, systemClock } from "../../protocol/clock.ts";

/** The wait before what broke is tried again; it doubles. */
export const retryMs = 500;
export const longestRetryMs = 30_000;

/** A longer time would be taken for none at all; nearly a month is long enough. */
const longestMs = 2 ** 31 - 1;

/** Waits, unless the signal aborts. */
export function pause(
  delayMs: number,
  clock: Clock = systemClock,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const done = (): void => {
      signal?.removeEventListener("abort", done);
      timer.cancel();
      resolve();
    };
    signal?.addEventListener("abort", done, { once: true });
    const timer = clock.after(Math.min(delayMs, longestMs), done, true);
  });
}
