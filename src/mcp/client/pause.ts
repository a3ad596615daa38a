import { type Clock, longestDelayMs, systemClock } from "../../protocol/clock.ts";
import { isExactly, shuttingDown, WireError } from "../../protocol/errors.ts";

/** The wait before what broke is tried again; it doubles. */
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

/** Statuses of servers that are away, overrun or new, besides those from 500. */
const passingStatuses: readonly unknown[] = [404, 408, 429];

/** Whether it may do to try again: a wire heals, and where a server stops another takes its place. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof WireError)) return isExactly(error, shuttingDown);
  const { code, status = 0 } = error;
  if (code !== "HTTP_STATUS") return !["CLOSED", "UNSUPPORTED", "TOO_LARGE"].includes(code);
  return passingStatuses.includes(status) || (status >= 500 && status !== 501);
}
