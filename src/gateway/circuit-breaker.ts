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
  #opened: number | undefined;
  #pauseMs = 0;
  /** Set while the one call that may try is on its way. */
  #trying = false;
  /** Grows with each answer, and each time that it opens: what was sent before tells less than that. */
  #epoch = 0;

  constructor(clock: Clock, options: BreakerOptions = {}) {
    this.#clock = clock;
    this.#limit = options.failures ?? 5;
    this.#coolDownMs = options.coolDownMs ?? 1_000;
  }

  /** Whether it has failed so often that it is left alone, until something answers again. */
  get isOpen(): boolean {
    return this.#opened !== undefined;
  }

  /** Whether a call may be sent now. */
  get lets(): boolean {
    if (this.#opened === undefined) return true;
    return !this.#trying && this.#clock.now() - this.#opened >= this.#pauseMs;
  }

  /** A call is sent. What is returned tells `fail` and `forget` when that was. */
  begin(): number {
    if (this.#opened !== undefined) this.#trying = true;
    return this.#epoch;
  }

  /** Something answered. */
  succeed(): void {
    this.#epoch++;
    this.#failures = 0;
    this.#opened = undefined;
    this.#trying = false;
  }

  /** Nothing answered a call that was sent then. */
  fail(begun: number): void {
    if (begun !== this.#epoch) return;
    this.#trying = false;
    if (++this.#failures < this.#limit) return;
    const isAgain = this.#opened !== undefined;
    this.#pauseMs = isAgain ? Math.min(this.#coolDownMs, this.#pauseMs * 2) : this.#coolDownMs / 10;
    this.#opened = this.#clock.now();
    this.#epoch++;
  }

  /** A call that was sent then was given up before it told anything. */
  forget(begun: number): void {
    if (begun === this.#epoch) this.#trying = false;
  }
}
