import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** Least time between two lines. */
const quietMs = 60_000;

/** Logs an event that strangers can cause any number of times: once a minute, with how many were left out. */
export class RareWarning {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #message: string;
  #loggedAt: number | undefined;
  /** Events since the last line. */
  #unlogged = 0;

  constructor(log: Log, clock: Clock, message: string) {
    this.#log = log;
    this.#clock = clock;
    this.#message = message;
  }

  warn(fields: object = {}): void {
    const now = this.#clock.elapsed();
    if (this.#loggedAt !== undefined && now - this.#loggedAt < quietMs) {
      this.#unlogged++;
      return;
    }
    const all = { ...fields, unlogged: this.#unlogged };
    this.#loggedAt = now;
    this.#unlogged = 0;
    this.#log.warn(all, this.#message);
  }
}
