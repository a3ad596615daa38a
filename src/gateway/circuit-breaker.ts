import type { Clock } from "../protocol/clock.ts";

/** When a target that fails is left alone, and for how long. */
export interface BreakerOptions {
  /** So many failures in a row open it. @default 5 */
  readonly failures?: number;
  /** How long it stays open at most before one call may try again; at first a tenth of that, then twice as long each time. @default 1000 */
  readonly coolDownMs?: number;
}

/** Keeps calls from a target that fails again and again, so that they fail fast or go elsewhere. */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #coolDownMs: number;
  #failures = 0;
  #isOpen = false;
  #pauseMs = 0;
  /** When it was opened, or a call was sent that may try. One that tells nothing for long must not keep others away. */
  #since = 0;
  /** Grows with each answer, and each time that it opens: what was sent before tells less than that. */
  #epoch = 0;

  constructor(clock: Clock, options: BreakerOptions = {}) {
    this.#clock = clock;
    this.#limit = options.failures ?? 5;
    this.#coolDownMs = options.coolDownMs ?? 1_000;
  }

  /** Whether it has failed so often that it is left alone, until something answers again. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether a call may be sent now. */
  get lets(): boolean {
    return !this.#isOpen || this.#clock.elapsed() - this.#since >= this.#pauseMs;
  }

  /** A call is sent. What is returned tells `fail` and `forget` when that was. */
  begin(): number {
    if (this.#isOpen) this.#since = this.#clock.elapsed();
    return this.#epoch;
  }

  /** Something answered. */
  succeed(): void {
    this.#epoch++;
    this.#failures = 0;
    this.#isOpen = false;
  }

  /** Nothing answered a call that was sent then. */
  fail(begun: number): void {
    if (begun !== this.#epoch) return;
    if (++this.#failures < this.#limit) return;
    this.#pauseMs = this.#isOpen
      ? Math.min(this.#coolDownMs, this.#pauseMs * 2)
      : this.#coolDownMs / 10;
    this.#isOpen = true;
    this.#since = this.#clock.elapsed();
    this.#epoch++;
  }

  /** A call that was sent then was given up before it told anything. */
  forget(begun: number): void {
    if (begun === this.#epoch) this.#since = Number.NEGATIVE_INFINITY;
  }
}
