import { type Clock, systemClock, type Timer } from "../protocol/clock.ts";

export interface HeartbeatOptions {
  /** Silence after which the other end is asked for a sign of life; `Infinity` never asks. @default 30000 */
  readonly pingMs?: number | undefined;
  /** Silence after which the wire counts as dead; a cut cable tells nobody. @default 40000 */
  readonly deadMs?: number | undefined;
  /** The clock of the pings, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock | undefined;
}

/** Watches a wire for silence: asks, and gives it up when nothing comes. */
export class Heartbeat {
  readonly #ask: () => void;
  readonly #giveUp: () => void;
  readonly #pingMs: number;
  readonly #deadMs: number;
  readonly #clock: Clock;
  /** The last sign of life came no earlier than this. */
  #heardAt: number;
  #lookedAt: number;
  #heard = false;
  #asked = false;
  #timer: Timer | undefined;

  constructor(options: HeartbeatOptions, ask: () => void, giveUp: () => void) {
    this.#pingMs = options.pingMs ?? 30_000;
    this.#deadMs = Math.max(options.deadMs ?? 40_000, this.#pingMs + 1);
    this.#clock = options.clock ?? systemClock;
    this.#ask = ask;
    this.#giveUp = giveUp;
    this.#heardAt = this.#clock.elapsed();
    this.#lookedAt = this.#heardAt;
    if (this.#pingMs !== Number.POSITIVE_INFINITY) this.#waitFor(this.#pingMs);
  }

  /** Something arrived. Cheap, because it is told of every message. */
  heard(): void {
    this.#heard = true;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #waitFor(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => this.#look());
  }

  #look(): void {
    const now = this.#clock.elapsed();
    if (this.#heard) {
      this.#heard = false;
      this.#asked = false;
      this.#heardAt = this.#lookedAt;
    }
    this.#lookedAt = now;
    const silence = now - this.#heardAt;
    if (silence < this.#pingMs) {
      this.#waitFor(this.#pingMs - silence);
    } else if (this.#asked) {
      this.#giveUp();
    } else {
      // Asked even if time has run on: a process that slept has not read what came meanwhile.
      this.#asked = true;
      this.#ask();
      this.#waitFor(this.#deadMs - this.#pingMs);
    }
  }
}
