import type { KV } from "./client-library.ts";
import type { Outage } from "./outage.ts";

/** What an entry takes at most, with its subject and headers. */
const entryBytes = 512;
/** The part that is never used, and what it is at least: hundreds of processes may take the last entry that they see. */
const reservedShare = 1 / 16;
const leastReserve = 2 ** 17;
const leastBytes = 2 ** 20;
/** Of a bucket that many fill, each uses this part of what is left before it looks again. */
const ownShare = 1 / 256;
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
    if (max_bytes > 0 && max_bytes < leastBytes) {
      throw new RangeError(
        `max_bytes of the bucket is ${max_bytes}; it has to be ${leastBytes} or more`,
      );
    }
    const reserve = Math.max(max_bytes * reservedShare, leastReserve);
    const left = max_bytes > 0 ? max_bytes - size - reserve : Number.POSITIVE_INFINITY;
    this.#left = left <= 0 ? 0 : Math.max(1, (left * ownShare) / entryBytes);
    return left > 0;
  }
}
