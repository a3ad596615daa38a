import { type Clock, systemClock } from "../../protocol/clock.ts";
import { limitOf } from "../../protocol/limits.ts";
import { isThenable, type MaybePromise } from "../../protocol/message.ts";
import {
  MemoryNonces,
  maxNonceLength,
  type NonceDecision,
  type NonceStore,
} from "../nonce-store.ts";
import {
  noncesFull,
  replayed,
  type SignatureRefusal,
  signatureExpired,
  signatureInvalid,
} from "./signature-errors.ts";

export interface FreshnessOptions {
  /** How much the clocks of client and server may differ, and how old a message may be. @default 60000 */
  readonly skewMs?: number;
  /** Remembers used nonces; stops replays. Several processes need a shared store. @default memoryNonces() */
  readonly nonces?: NonceStore;
  /** The time of day, for time stamps. @default the system clock */
  readonly clock?: Clock;
}

/** The time stamps of a message, in seconds since the epoch, and its nonce. */
export interface Stamp {
  readonly created: unknown;
  readonly expires?: unknown;
  readonly nonce: unknown;
}

/** Checks that a message with a valid signature is recent and not a replay. */
export class Freshness {
  readonly clock: Clock;
  readonly #skewMs: number;
  readonly #nonces: NonceStore;

  /** `fenceMs` applies to the default store. */
  constructor(options: FreshnessOptions, fenceMs = 0) {
    const { skewMs = 60_000, clock = systemClock } = options;
    this.clock = clock;
    this.#skewMs = limitOf("skewMs", skewMs);
    this.#nonces = options.nonces ?? new MemoryNonces({ windowMs: 2 * skewMs, clock, fenceMs });
  }

  /** Checks only the time. */
  refuseTime(created: unknown, expires?: unknown): SignatureRefusal | undefined {
    const now = this.clock.now();
    if (typeof created !== "number" || !Number.isFinite(created)) return signatureInvalid;
    if (Math.abs(now - created * 1000) > this.#skewMs) return signatureExpired;
    if (expires === undefined) return undefined;
    if (typeof expires !== "number" || !Number.isFinite(expires)) return signatureInvalid;
    return now >= expires * 1000 ? signatureExpired : undefined;
  }

  /** Checks the time, then takes the nonce. Only for messages whose signature is valid. */
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
    const decision = this.#nonces.take({ owner, value: nonce, createdAt, expiresAt });
    return isThenable(decision) ? decision.then(refusalOf) : refusalOf(decision);
  }
}

function refusalOf(decision: NonceDecision): SignatureRefusal | undefined {
  switch (decision) {
    case "new":
      return undefined;
    case "full":
      return noncesFull;
    default:
      return replayed;
  }
}
