import { type Clock, systemClock } from "../../protocol/clock.ts";
import { limitOf } from "../../protocol/limits.ts";
import { isThenable, type MaybePromise } from "../../protocol/message.ts";
import { MemoryNonces } from "../memory-nonces.ts";
import { maxNonceLength, type NonceStore, type NonceVerdict } from "../nonces.ts";
import {
  noncesFull,
  replayed,
  type SignatureRefusal,
  signatureExpired,
  signatureInvalid,
} from "./refusals.ts";

export interface FreshnessOptions {
  /** How far the clocks of the two ends may differ, and how old a message may be. @default 60000 */
  readonly skewMs?: number;
  /** Remembers what was used, so that nothing is taken twice. @default memoryNonces() */
  readonly nonces?: NonceStore;
  /** The clock that timestamps are compared with, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
}

/** What a message says about its time; in seconds since the epoch. */
export interface Stamp {
  readonly created: unknown;
  readonly expires?: unknown;
  readonly nonce: unknown;
}

/** Judges whether a message with a valid signature is of now, and came once. */
export class Freshness {
  readonly clock: Clock;
  readonly #skewMs: number;
  readonly #nonces: NonceStore;

  /** `fenceMs` is for the store of its own, where none is given. */
  constructor(options: FreshnessOptions, fenceMs = 0) {
    const { skewMs = 60_000, clock = systemClock } = options;
    this.clock = clock;
    this.#skewMs = limitOf("skewMs", skewMs);
    this.#nonces = options.nonces ?? new MemoryNonces({ windowMs: 2 * skewMs, clock, fenceMs });
  }

  /** Looks at the time only. */
  refuseTime(created: unknown, expires?: unknown): SignatureRefusal | undefined {
    const now = this.clock.now();
    if (typeof created !== "number" || !Number.isFinite(created)) return signatureInvalid;
    if (Math.abs(now - created * 1000) > this.#skewMs) return signatureExpired;
    if (expires === undefined) return undefined;
    if (typeof expires !== "number" || !Number.isFinite(expires)) return signatureInvalid;
    return now >= expires * 1000 ? signatureExpired : undefined;
  }

  /** Looks at the time, then takes the nonce. Only for messages whose signature is valid. */
  refuse(
    owner: string,
    { created, expires, nonce }: Stamp,
  ): MaybePromise<SignatureRefusal | undefined> {
    const late = this.refuseTime(created, expires);
    if (late !== undefined) return late;
    if (typeof nonce !== "string" || nonce === "" || nonce.length > maxNonceLength) {
      return signatureInvalid;
    }
    const createdAt = (created as number) * 1000;
    const expiresAt = createdAt + this.#skewMs;
    const verdict = this.#nonces.take({ owner, value: nonce, createdAt, expiresAt });
    return isThenable(verdict) ? verdict.then(refusalOf) : refusalOf(verdict);
  }
}

function refusalOf(verdict: NonceVerdict): SignatureRefusal | undefined {
  switch (verdict) {
    case "new":
      return undefined;
    case "full":
      return noncesFull;
    default:
      return replayed;
  }
}
