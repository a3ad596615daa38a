import type { Clock, Timer } from "../protocol/clock.ts";

/** The longest delay of setTimeout, which treats a longer one as no delay. */
const longestDelayMs = 2 ** 31 - 1;

/**
 * A clock that the test moves, so that tests need not wait. `advance` lets time pass and runs timers;
 * `setTime` only changes the time of day, as when the clock of the machine is set.
 * @example
 * ```ts
 * import { createClient, createServer } from "callwire";
 * import { memoryPair } from "callwire/connection";
 * import { FakeClock } from "callwire/testing";
 *
 * const clock = new FakeClock();
 * const slow = createServer({ wait: () => new Promise<void>(() => {}) });
 * const [near] = memoryPair(undefined, slow);
 * const client = createClient(near, { clock, timeoutMs: 5_000 });
 * const call = client.call("wait");
 * clock.advance(6_000); // now the call rejects with TIMEOUT
 * ```
 */
export class FakeClock implements Clock {
  readonly #timers = new Map<Timer, { readonly at: number; readonly run: () => void }>();
  #elapsed = 0;
  /** Difference between `now` and `elapsed`. */
  #offset: number;

  /** `now` is the time to start from, in milliseconds since the epoch. */
  constructor(now = 0) {
    this.#offset = now;
  }

  /** Number of pending timers. */
  get waiting(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#offset + this.#elapsed;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  /** Sets the time of day alone, in milliseconds since the epoch: no time passes, and no timer runs. */
  setTime(now: number): void {
    this.#offset = now - this.#elapsed;
  }

  after(delayMs: number, run: () => void): Timer {
    const timer: Timer = { cancel: () => void this.#timers.delete(timer) };
    const delay = delayMs > longestDelayMs ? 0 : Math.max(delayMs, 0);
    this.#timers.set(timer, { at: this.#elapsed + delay, run });
    return timer;
  }

  /** Lets time pass. Timers run in the order of their times, including those set meanwhile. */
  advance(ms: number): void {
    const end = this.#elapsed + ms;
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      const { at, run } = this.#timers.get(timer) as { at: number; run: () => void };
      this.#timers.delete(timer);
      this.#elapsed = at;
      run();
    }
    this.#elapsed = end;
  }

  /** The next timer that is due; of two at the same time, the one that was set first. */
  #next(end: number): Timer | undefined {
    let next: Timer | undefined;
    let earliest = end;
    for (const [timer, { at }] of this.#timers) {
      if (at < earliest || (at === earliest && next === undefined)) {
        next = timer;
        earliest = at;
      }
    }
    return next;
  }
}
