import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** Least time between two lines. */
const quietMs = 60_000;

/** The warnings of each log, by their messages. */
const known = new WeakMap<Log, Map<string, RareWarning>>();

/** Logs a warning that strangers can cause on any number of connections; see `RareWarning`. */
export function warnRarely(log: Log, clock: Clock, fields: object, message: string): void {
  const warnings = known.get(log) ?? new Map<string, RareWarning>();
  known.set(log, warnings);
  const warning = warnings.get(message) ?? new RareWarning(log, clock, message);
  warnings.set(message, warning);
  warning.warn(fields);
}

/** Logs an event that strangers can cause any number of times: once a minute, with how many were left out. */
export class RareWarning {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #message: string;
  #loggedAt = Number.NEGATIVE_INFINITY;
  /** Events since the last line. */
  #unlogged = 0;

  constructor(log: Log, clock: Clock, message: string) {
    this.#log = log;
    this.#clock = clock;
    this.#message = message;
  }

  warn(fields: object = {}): void {
    const now = this.#clock.elapsed();
    if (now - this.#loggedAt < quietMs) {
      this.#unlogged++;
      return;
    }
    this.#log.warn({ ...fields, unlogged: this.#unlogged }, this.#message);
    this.#loggedAt = now;
    this.#unlogged = 0;
  }
}
