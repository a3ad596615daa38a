/** A source of time; tests pass their own. */
export interface Clock {
  /** Milliseconds since the epoch, for times that are shown, stored or sent. Jumps when the clock is set. */
  now(): number;
  /** Milliseconds since a fixed moment, for measuring durations. Never jumps. */
  elapsed(): number;
  /** Runs once after the delay. Only a timer with `holds` keeps the process alive. */
  after(delayMs: number, run: () => void, holds?: boolean): Timer;
}

/** Runs once, unless cancelled before. */
export interface Timer {
  cancel(): void;
}

/** The longest delay of one timer, about three weeks; `setTimeout` treats delays above 2 ** 31 ms as 0. */
export const longestDelayMs = 2e9;

/** No time limit; named once, because client bundles pay for each mention of the number. */
export const forever: number = Number.POSITIVE_INFINITY;

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(delayMs, run, holds) {
    const timer = setTimeout(run, Math.min(delayMs, longestDelayMs)) as unknown as {
      unref?: () => void;
    };
    if (!holds) timer.unref?.();
    return { cancel: () => clearTimeout(timer as never) };
  },
};

/** Time left until a moment in milliseconds since the epoch, such as `call.deadline`; 0 if it has passed. */
export function timeUntil(clock: Clock, epochMs: number): number {
  return Math.max(0, epochMs - clock.now());
}

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

/** Validates a timeout; a negative or non-number one would mean no timeout on some wires. */
export function checkTimeout(timeoutMs: number | undefined): void {
  if (timeoutMs !== undefined && Math.max(0, timeoutMs) !== timeoutMs) {
    throw new TypeError(`timeoutMs must be a number of at least 0, not ${timeoutMs}`);
  }
}
