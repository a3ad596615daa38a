import { type Clock, systemClock, type Timer } from "../protocol/clock.ts";

const intervalMs = 500;

/** Measures how late timers run, which shows how long other work blocks the event loop. */
export class EventLoopLag {
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #worstMs = 0;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  start(): void {
    this.#timer ??= this.#wait();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** The longest delay since the last call, in seconds. */
  take(): number {
    const worst = this.#worstMs;
    this.#worstMs = 0;
    return worst / 1000;
  }

  #wait(): Timer {
    const due = this.#clock.elapsed() + intervalMs;
    return this.#clock.after(intervalMs, () => {
      this.#worstMs = Math.max(this.#worstMs, this.#clock.elapsed() - due);
      this.#timer = this.#wait();
    });
  }
}
