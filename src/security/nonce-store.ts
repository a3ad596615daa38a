import { type Clock, systemClock } from "../protocol/clock.ts";
import { limitOf } from "../protocol/limits.ts";
import type { MaybePromise } from "../protocol/message.ts";
import { Fingerprint, FingerprintSet } from "./fingerprints.ts";

/** A nonce that came with a valid signature. */
export interface Nonce {
  /** The id of the key or principal. Two owners may use the same value. */
  readonly owner: string;
  readonly value: string;
  /** When the message was created according to its sender, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** When the message becomes too old by its time stamp, in milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The decision of a store on a nonce. */
export type NonceDecision =
  /** Not seen before; it is stored now. */
  | "new"
  | "seen"
  /** No room. The message is refused, since dropping another nonce would allow that one to be replayed. */
  | "full"
  /** Created before this store, so that an earlier process may have accepted it. */
  | "too-old";

/** Remembers nonces until they expire. */
export interface NonceStore {
  /** Checks and stores a nonce in one atomic step. */
  take(nonce: Nonce): MaybePromise<NonceDecision>;
}

/** Longest nonce, in characters; stops callers from filling a store with long ones. */
export const maxNonceLength = 128;

export interface MemoryNoncesOptions {
  /** Most nonces; a million take 65 MB. Messages with further ones are refused. @default 1000000 */
  readonly capacity?: number;
  /** Most nonces of one owner; stops one caller from locking out the others. @default a quarter of the capacity */
  readonly quota?: number;
  /** How long a nonce must be kept: twice the clock skew. @default 120000 */
  readonly windowMs?: number;
  /**
   * Refuses messages created before the store, or up to this long after it, since an earlier process
   * may have accepted them. With the clock skew, this also stops messages from clocks that are ahead,
   * but refuses everything for that long after a start. @default 0
   */
  readonly fenceMs?: number;
  /** Measures ages and reads the time of day. @default the system clock */
  readonly clock?: Clock;
}

/** The nonces taken since some moment. */
class Generation {
  readonly prints = new FingerprintSet();
  readonly counts = new Map<string, number>();
  /** In `elapsed` time of the clock. */
  readonly since: number;
  /** When the last of them expires, in milliseconds since the epoch. */
  latest = Number.NEGATIVE_INFINITY;

  constructor(since: number) {
    this.since = since;
  }
}

/**
 * Keeps nonces in this process, in two generations: when the younger one is as old as the window, all
 * nonces of the older one have expired and are dropped together.
 */
export class MemoryNonces implements NonceStore {
  readonly #capacity: number;
  readonly #quota: number;
  readonly #windowMs: number;
  readonly #clock: Clock;
  /** Rounded to whole seconds, like the time stamps. */
  readonly #fence: number;
  readonly #print = new Fingerprint();
  #young: Generation;
  #old: Generation;
  /** Nonces expiring up to then may have been dropped, and are refused if the clock is set back. In milliseconds since the epoch. */
  #forgotten = Number.NEGATIVE_INFINITY;

  constructor(options: MemoryNoncesOptions = {}) {
    const { capacity = 1_000_000, windowMs = 120_000, fenceMs = 0, clock = systemClock } = options;
    this.#capacity = limitOf("capacity", capacity);
    this.#quota = limitOf("quota", options.quota, Math.ceil(capacity / 4));
    this.#windowMs = limitOf("windowMs", windowMs);
    this.#clock = clock;
    // With NaN no message would be older than the fence.
    if (!Number.isFinite(fenceMs)) throw new TypeError(`fenceMs must be a number, not ${fenceMs}`);
    this.#fence = Math.floor((clock.now() + fenceMs) / 1000) * 1000;
    this.#young = new Generation(clock.elapsed());
    this.#old = this.#young;
  }

  /** Number of nonces kept. */
  get size(): number {
    const { prints } = this.#young;
    return this.#old === this.#young ? prints.size : prints.size + this.#old.prints.size;
  }

  take({ owner, value, createdAt, expiresAt }: Nonce): NonceDecision {
    this.#turn();
    if (createdAt < this.#fence || expiresAt <= this.#forgotten) return "too-old";
    if (expiresAt > this.#clock.now() + this.#windowMs) {
      throw new RangeError(
        `windowMs of ${this.#windowMs} is too short: a nonce must be kept until its message expires`,
      );
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

  /** Uses elapsed time: setting the clock must neither drop nonces nor keep them forever. */
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
 * Keeps nonces in this process, which loses them when it restarts.
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
