import type { Clock } from "../protocol/clock.ts";

/** How long a message that could not be read is held against whoever sent it. */
const forgetMs = 60_000;

/** Messages that could not be read. One is forgotten each minute, so that rare accidents do not add up. */
export class Strikes {
  readonly #max: number;
  readonly #clock: Clock;
  #count = 0;
  /** From when on the time counts that makes forget. */
  #since = 0;

  constructor(max: number, clock: Clock) {
    this.#max = max;
    this.#clock = clock;
  }

  /** Whether this was one too many. */
  add(): boolean {
    const now = this.#clock.elapsed();
    const forgotten = Math.min(this.#count, Math.floor(Math.max(0, now - this.#since) / forgetMs));
    this.#count -= forgotten;
    this.#since = this.#count === 0 ? now : this.#since + forgotten * forgetMs;
    this.#count++;
    return this.#count >= this.#max;
  }
}
