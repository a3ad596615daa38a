import type { Clock } from "../../protocol/clock.ts";

/** Waits, unless the signal aborts; a timer of the system's clock would let the process end meanwhile. */
export function pause(
  delayMs: number,
  clock: Clock | undefined,
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
    const timer = clock === undefined ? lasting(delayMs, done) : clock.after(delayMs, done);
  });
}

/** A longer time would be taken for none at all; nearly a month is long enough. */
const longestMs = 2 ** 31 - 1;

function lasting(delayMs: number, run: () => void): { cancel(): void } {
  const timer = setTimeout(run, Math.min(delayMs, longestMs));
  return { cancel: () => clearTimeout(timer) };
}
