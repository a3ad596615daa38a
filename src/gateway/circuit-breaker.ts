import type { Clock } from "../protocol/clock.ts";

/** When calls to a failing target stop, and for how long. */
export interface BreakerOptions {
  /** Failures in a row that open the circuit. @default 5 */
  readonly failures?: number;
  /** Longest time the circuit stays open before one call may try again; it starts at a tenth of this and doubles. @default 1000 */
  readonly coolDownMs?: number;
}

/** Stops calls to a target that keeps failing, so that they fail fast or go to another target. */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #coolDownMs: number;
  #failures = 0;
  #isOpen = false;
  #pauseMs = 0;
  /** When the circuit opened or the last trial call was sent; a trial without an outcome must not block the next one. */
  #since = 0;
  /** Grows with each answer and each opening; the outcome of calls sent before that no longer counts. */
  #epoch = 0;

  constructor(clock: Clock, options: BreakerOptions = {}) {
    this.#clock = clock;
    this.#limit = options.failures ?? 5;
    this.#coolDownMs = options.coolDownMs ?? 1_000;
  }

  /** Whether the circuit is open, until the target answers again. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether a call may be sent now. */
  get allowsCall(): boolean {
    return !this.#isOpen || this.#clock.elapsed() - this.#since >= this.#pauseMs;
  }

  /** A call is sent. Pass the returned epoch to `fail` or `forget`. */
  begin(): number {
    if (this.#isOpen) this.#since = this.#clock.elapsed();
    return this.#epoch;
  }

  /** The target answered. */
  succeed(): void {
    this.#epoch++;
    this.#failures = 0;
    this.#isOpen = false;
  }

  /** A call sent in this epoch got no answer. */
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

  /** A call sent in this epoch was cancelled before it had an outcome. */
  forget(begun: number): void {
    if (begun === this.#epoch) this.#since = Number.NEGATIVE_INFINITY;
  }
}
