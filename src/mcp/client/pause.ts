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

function lasting(delayMs: number, run: () => void): { cancel(): void } {
  const timer = setTimeout(run, delayMs);
  return { cancel: () => clearTimeout(timer) };
}
