import { type Clock, systemClock } from "../protocol/clock.ts";
import { limitOf } from "../protocol/limits.ts";
import { Fingerprint, FingerprintSet } from "./fingerprints.ts";
import type { Nonce, NonceStore, NonceVerdict } from "./nonces.ts";

export interface MemoryNoncesOptions {
  /** Most nonces in all; a million take 65 MB. Further ones are refused. @default 1000000 */
  readonly capacity?: number;
  /** Most nonces of one owner, so that one caller cannot shut out the others. @default a quarter of the capacity */
  readonly quota?: number;
  /** The longest that a nonce has to be kept: twice the skew of the clocks. @default 120000 */
  readonly windowMs?: number;
  /**
   * Refuses messages that were made before the store was, or up to so long after it: the process
   * before may have seen them. The skew shuts out even those whose clock ran ahead, and everybody
   * else for that long. @default 0
   */
  readonly fenceMs?: number;
  /** The clock that decides whether a nonce has expired, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
}

/** What was taken since some moment. */
class Generation {
  readonly prints = new FingerprintSet();
  readonly counts = new Map<string, number>();
  /** By `elapsed` of the clock. */
  readonly since: number;
  /** When the last of them expires, in milliseconds since the epoch. */
  latest = Number.NEGATIVE_INFINITY;

  constructor(since: number) {
    this.since = since;
  }
}

/**
 * Keeps nonces in this process. They are kept in two generations: when the younger is as old as the
 * window, all of the older has expired and goes at once.
 */
export class MemoryNonces implements NonceStore {
  readonly #capacity: number;
  readonly #quota: number;
  readonly #windowMs: number;
  readonly #clock: Clock;
  /** In whole seconds, as time stamps are. */
  readonly #fence: number;
  readonly #print = new Fingerprint();
  #young: Generation;
  #old: Generation;
  /** What expires by then may have been forgotten, and is refused should the clock be set back. In milliseconds since the epoch. */
  #forgotten = Number.NEGATIVE_INFINITY;

  constructor(options: MemoryNoncesOptions = {}) {
    const { capacity = 1_000_000, windowMs = 120_000, fenceMs = 0, clock = systemClock } = options;
    this.#capacity = limitOf("capacity", capacity);
    this.#quota = limitOf("quota", options.quota, Math.ceil(capacity / 4));
    this.#windowMs = limitOf("windowMs", windowMs);
    this.#clock = clock;
    // Nothing would be older than such a fence, also not what the process before has seen.
    if (!Number.isFinite(fenceMs)) throw new TypeError(`fenceMs is a number, not ${fenceMs}`);
    this.#fence = Math.floor((clock.now() + fenceMs) / 1000) * 1000;
    this.#young = new Generation(clock.elapsed());
    this.#old = this.#young;
  }

  /** How many are kept. */
  get size(): number {
    const { prints } = this.#young;
    return this.#old === this.#young ? prints.size : prints.size + this.#old.prints.size;
  }

  take({ owner, value, createdAt, expiresAt }: Nonce): NonceVerdict {
    this.#turn();
    if (createdAt < this.#fence || expiresAt <= this.#forgotten) return "too-old";
    if (expiresAt > this.#clock.now() + this.#windowMs) {
      throw new RangeError(`the store keeps nonces for ${this.#windowMs} ms, which is too short`);
    }
    const print = this.#print;
    print.of(owner, value);
    if (this.#young.prints.has(print)) return "seen";
    if (this.#old !== this.#young && this.#old.prints.has(print)) return "seen";
    const count = this.#young.counts.get(owner) ?? 0;
    const before = this.#old === this.#young ? 0 : (this.#old.counts.get(owner) ?? 0);
    if (this.size >= this.#capacity || count + before >= this.#quota) return "full";
    this.#young.prints.add(print);
    this.#young.counts.set(owner, count + 1);
    this.#young.latest = Math.max(this.#young.latest, expiresAt);
    return "new";
  }

  /** Goes by the time that has passed: a clock that is set must neither forget nonces nor keep them for ever. */
  #turn(): void {
    const now = this.#clock.elapsed();
    const age = now - this.#young.since;
    if (age <= this.#windowMs) return;
    const next = new Generation(now);
    const kept = age > 2 * this.#windowMs ? next : this.#young;
    for (const each of [this.#old, this.#young]) {
      if (each !== kept) this.#forgotten = Math.max(this.#forgotten, each.latest);
    }
    this.#old = kept;
    this.#young = next;
  }
}

/**
 * Makes a store of nonces in this process: enough for one process that may forget them when it restarts.
 * @example
 * ```ts
 * import { createSigningKey, memoryNonces, signedRequests } from "callwire/security/signing";
 *
 * const { verifier } = createSigningKey("ed25519", "client-1");
 * // Refuses, for two minutes after a start, what the process before may have seen.
 * const nonces = memoryNonces({ capacity: 100_000, fenceMs: 120_000 });
 * const credential = signedRequests({ keys: [verifier], nonces });
 * ```
 */
export function memoryNonces(options?: MemoryNoncesOptions): MemoryNonces {
  return new MemoryNonces(options);
}
