import type { KV } from "./client-library.ts";
import type { Outage } from "./outage.ts";

/** What an entry takes at most, with its subject and headers. */
const entryBytes = 512;
/** Of a bucket that several fill, each uses this part of what is left before it looks again. */
const share = 1 / 16;
/** After this time others may have used the rest. */
const freshMs = 1_000;

/**
 * What is left of a bucket. NATS compares less than what an entry takes with `max_bytes`; so one that does not fit can be
 * taken, and pushes out the oldest without a word. A reserve that is never used keeps that from happening.
 */
export class Room {
  readonly #bucket: Pick<KV, "status">;
  readonly #outage: Outage;
  /** So many entries are left until it has to be looked again. */
  #left = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #ttlMs = 0;
  #looking: Promise<boolean> | undefined;

  constructor(bucket: Pick<KV, "status">, outage: Outage) {
    this.#bucket = bucket;
    this.#outage = outage;
  }

  /** How long entries are kept. Known once room was asked for. */
  get ttlMs(): number {
    return this.#ttlMs;
  }

  /** Whether one more entry fits; if so, it is counted. */
  async take(): Promise<boolean> {
    while (this.#left < 1 || performance.now() - this.#lookedAt > freshMs) {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined;
      });
      if (!(await this.#looking)) return false;
    }
    this.#left--;
    return true;
  }

  /** Whether there is any. */
  async #look(): Promise<boolean> {
    const { ttl, size, max_bytes } = await this.#outage.bridge(() => this.#bucket.status());
    this.#ttlMs = ttl === 0 ? Number.POSITIVE_INFINITY : ttl;
    this.#lookedAt = max_bytes > 0 ? performance.now() : Number.POSITIVE_INFINITY;
    const reserve = Math.max(max_bytes * share, 4 * entryBytes);
    const left = max_bytes > 0 ? max_bytes - size - reserve : Number.POSITIVE_INFINITY;
    this.#left = left <= 0 ? 0 : Math.max(1, (left * share) / entryBytes);
    return left > 0;
  }
}
