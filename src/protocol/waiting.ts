import { type Clock, longestDelayMs, systemClock } from "./clock.ts";

/** Resolves when the promise does, or after `ms`. With `holds`, the wait keeps the process alive. */
export function settledOrTimeout(
  clock: Clock,
  ms: number,
  done: Promise<unknown>,
  holds = false,
): Promise<void> {
  return new Promise((resolve) => {
    const late = clock.after(ms, resolve, holds);
    void done.then(() => {
      late.cancel();
      resolve();
    });
  });
}

/** Waits, but not after the signal aborts. The wait keeps the process alive. */
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

/** A promise took longer than `withTimeout` allows. */
export class LateError extends Error {
  override readonly name = "LateError";
}

/** The outcome of a promise; rejects with a `LateError` if it takes longer than `ms`. */
export function withTimeout<T>(
  clock: Clock,
  ms: number,
  promise: PromiseLike<T>,
  message: string,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = clock.after(ms, () => reject(new LateError(message)));
    promise.then(resolve, reject).then(() => late.cancel());
  });
}
