import { type Clock, longestDelayMs, systemClock } from "../../protocol/clock.ts";
import { type AlsoTemporary, outcomeOf } from "../../protocol/retry-rule.ts";

/** The wait before the second attempt; it doubles with each attempt. */
export const retryMs = 500;
export const longestRetryMs = 30_000;

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
    const timer = clock.after(Math.min(delayMs, longestDelayMs), done, true);
  });
}

/** A subscription outlives failed requests and lost sessions (404), so more failures are temporary for it. */
const subscription: AlsoTemporary = {
  codes: ["TIMEOUT", "ABORTED", "BAD_REPLY"],
  statuses: [404, 408, 429, 500],
};

/** Whether subscribing again may succeed. */
export function isTemporary(error: unknown): boolean {
  return outcomeOf(error, subscription) !== "final";
}
