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

/** Validates a timeout; a negative or non-number one would mean no timeout on some wires. */
export function checkTimeout(timeoutMs: number | undefined): void {
  if (timeoutMs !== undefined && Math.max(0, timeoutMs) !== timeoutMs) {
    throw new TypeError(`timeoutMs must be a number of at least 0, not ${timeoutMs}`);
  }
}
