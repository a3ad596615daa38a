import { type Clock, systemClock, type Timer } from "../protocol/clock.ts";

export interface HeartbeatOptions {
  /** Silence after which a ping is sent; `Infinity` never pings. @default 30000 */
  readonly pingMs?: number | undefined;
  /** Silence after which the connection counts as dead; a cut cable is not reported otherwise. @default 40000 */
  readonly deadMs?: number | undefined;
  /** The clock of the pings, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock | undefined;
}

/** Detects a dead connection: pings after silence, and gives up if nothing arrives. */
export class Heartbeat {
  readonly #ping: () => void;
  readonly #giveUp: () => void;
  readonly #pingMs: number;
  readonly #deadMs: number;
  readonly #clock: Clock;
  /** The last data arrived no earlier than this. */
  #receivedAt: number;
  #checkedAt: number;
  /** Set for every message that arrives. */
  received = false;
  #pinged = false;
  #timer: Timer | undefined;

  constructor(options: HeartbeatOptions, ping: () => void, giveUp: () => void) {
    this.#pingMs = options.pingMs ?? 30_000;
    this.#deadMs = Math.max(options.deadMs ?? 40_000, this.#pingMs + 1);
    this.#clock = options.clock ?? systemClock;
    this.#ping = ping;
    this.#giveUp = giveUp;
    this.#receivedAt = this.#clock.elapsed();
    this.#checkedAt = this.#receivedAt;
    if (this.#pingMs !== Number.POSITIVE_INFINITY) this.#waitFor(this.#pingMs);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #waitFor(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => this.#check());
  }

  #check(): void {
    const now = this.#clock.elapsed();
    if (this.received) {
      this.received = false;
      this.#pinged = false;
      this.#receivedAt = this.#checkedAt;
    }
    this.#checkedAt = now;
    const silence = now - this.#receivedAt;
    if (silence < this.#pingMs) {
      this.#waitFor(this.#pingMs - silence);
    } else if (this.#pinged) {
      this.#giveUp();
    } else {
      // Pings even if `deadMs` has passed: a process that slept has not read what arrived meanwhile.
      this.#pinged = true;
      this.#ping();
      this.#waitFor(this.#deadMs - this.#pingMs);
    }
  }
}
