import { type Clock, systemClock, type Timer } from "../protocol/clock.ts";

export interface HeartbeatOptions {
  /** Silence after which the other end is asked for a sign of life. @default 30000 */
  readonly pingMs?: number | undefined;
  /** Silence after which the wire counts as dead; a cut cable tells nobody. @default 40000 */
  readonly deadMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** Watches a wire for silence: asks, and gives it up when nothing comes. */
export class Heartbeat {
  readonly #ask: () => void;
  readonly #giveUp: () => void;
  readonly #pingMs: number;
  readonly #deadMs: number;
  readonly #clock: Clock;
  #heardAt: number;
  #timer: Timer | undefined;

  constructor(options: HeartbeatOptions, ask: () => void, giveUp: () => void) {
    this.#pingMs = options.pingMs ?? 30_000;
    this.#deadMs = Math.max(options.deadMs ?? 40_000, this.#pingMs + 1);
    this.#clock = options.clock ?? systemClock;
    this.#ask = ask;
    this.#giveUp = giveUp;
    this.#heardAt = this.#clock.now();
    this.#waitFor(this.#pingMs);
  }

  /** Something arrived. Cheap, because it is told of every message. */
  heard(): void {
    this.#heardAt = Number.NaN;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #waitFor(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => this.#look());
  }

  #look(): void {
    const now = this.#clock.now();
    // Heard since the last look, at a time that nobody needs to know more exactly.
    if (Number.isNaN(this.#heardAt)) this.#heardAt = now;
    const silence = now - this.#heardAt;
    if (silence >= this.#deadMs) {
      this.#giveUp();
    } else if (silence >= this.#pingMs) {
      this.#ask();
      this.#waitFor(this.#deadMs - silence);
    } else {
      this.#waitFor(this.#pingMs - silence);
    }
  }
}
