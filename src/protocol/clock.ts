/** Time as the code sees it; tests pass their own. */
export interface Clock {
  /** Milliseconds since the epoch: for what is shown, stored or sent. It jumps when somebody sets the clock. */
  now(): number;
  /** Milliseconds since any fixed moment: for how long something takes. It never jumps, whoever sets the clock. */
  elapsed(): number;
  /** Runs once after the delay; only a timer that `holds` keeps a process alive, because somebody waits for it. */
  after(delayMs: number, run: () => void, holds?: boolean): Timer;
}

/** Something that will run once, unless it is cancelled before. */
export interface Timer {
  cancel(): void;
}

/** The longest time that is waited for in one go, about three weeks. Timers take one beyond 2 ** 31 ms for none at all. */
export const longestDelayMs = 2e9;

/** The time of the machine. */
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

/** How long it is until a moment in milliseconds since the epoch, such as `call.deadline`; 0 if it has passed. */
export function timeUntil(clock: Clock, epochMs: number): number {
  return Math.max(0, epochMs - clock.now());
}

/** Resolves when the promise does, or when the time is up. */
export function settledOrTimeout(clock: Clock, ms: number, done: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const late = clock.after(ms, resolve);
    void done.then(() => {
      late.cancel();
      resolve();
    });
  });
}

/** Something took too long. */
export class LateError extends Error {
  override readonly name = "LateError";
}

/** What a promise comes to; rejects with a `LateError` of this sentence where it takes longer, or for ever. */
export function withTimeout<T>(
  clock: Clock,
  ms: number,
  coming: PromiseLike<T>,
  sentence: string,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = clock.after(ms, () => reject(new LateError(sentence)));
    coming.then(resolve, reject).then(() => late.cancel());
  });
}

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
