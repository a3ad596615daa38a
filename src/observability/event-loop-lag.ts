import { type Clock, systemClock, type Timer } from "../protocol/clock.ts";

const intervalMs = 500;

/** How late timers come, which is how long other work holds the event loop. */
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

  /** The longest delay since this was last asked, in seconds. */
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
