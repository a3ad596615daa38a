import type { Clock } from "../protocol/clock.ts";

/** When a target that fails is left alone, and for how long. */
export interface BreakerOptions {
  /** So many failures in a row open it. @default 5 */
  readonly failures?: number;
  /** How long it stays open before one call may try again. @default 5000 */
  readonly coolDownMs?: number;
}

/** Keeps calls from a target that fails again and again, so that they fail fast or go elsewhere. */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #coolDownMs: number;
  #failures = 0;
  #opened: number | undefined;
  /** Set while the one call that may try is on its way. */
  #trying = false;

  constructor(clock: Clock, options: BreakerOptions = {}) {
    this.#clock = clock;
    this.#limit = options.failures ?? 5;
    this.#coolDownMs = options.coolDownMs ?? 5_000;
  }

  /** Whether it has failed so often that it is left alone, until something answers again. */
  get isOpen(): boolean {
    return this.#opened !== undefined;
  }

  /** Whether a call may be sent now. */
  get lets(): boolean {
    if (this.#opened === undefined) return true;
    return !this.#trying && this.#clock.now() - this.#opened >= this.#coolDownMs;
  }

  /** A call is sent. */
  begin(): void {
    if (this.#opened !== undefined) this.#trying = true;
  }

  /** Something answered. */
  succeed(): void {
    this.#failures = 0;
    this.#opened = undefined;
    this.#trying = false;
  }

  /** Nothing answered. */
  fail(): void {
    this.#trying = false;
    if (++this.#failures >= this.#limit) this.#opened = this.#clock.now();
  }

  /** The call was given up before it told anything. */
  forget(): void {
    this.#trying = false;
  }
}
