import { randomBytes } from "node:crypto";
import { BucketRetry, createKey, type KV, keyName } from "./bucket.ts";

/** Remembers nonces for all workers together. */
export interface NatsNonces {
  /** Whether the owner has used this nonce before; `full` if the bucket has no room. */
  take(nonce: {
    readonly owner: string;
    readonly value: string;
    /** When its time stamp expires, in milliseconds since the epoch. */
    readonly expiresAt: number;
  }): Promise<"new" | "seen" | "full">;
}

const streamIsFull = new Set<unknown>([10_047, 10_077, 10_122]);

/**
 * Stores nonces in a bucket of NATS, for several processes together and beyond a restart. The bucket must keep each for at least twice the
 * skew of the clocks. It refuses when a sixteenth of `max_bytes` (at least 128 KiB) is left; while it has no leader, callers wait:
 *
 *     const bucket = await new Kvm(connection).create("nonces", { ttl: 125_000, max_bytes: 2 ** 28 });
 *     signedRequests({ keys, nonces: natsNonces(bucket) });
 * @example
 * ```ts
 * import { Kvm } from "@nats-io/kv";
 * import { connect } from "@nats-io/transport-node";
 * import { natsNonces } from "callwire/nats/kv";
 * import { createSigningKey, signedRequests } from "callwire/security/signing";
 *
 * const buckets = new Kvm(await connect({ maxReconnectAttempts: -1 }));
 * const bucket = await buckets.create("nonces", { ttl: 125_000, max_bytes: 2 ** 28 });
 * const { verifier } = createSigningKey("ed25519", "client-1");
 * const credential = signedRequests({ keys: [verifier], nonces: natsNonces(bucket) });
 * ```
 */
export function natsNonces(bucket: Pick<KV, "put" | "get" | "status">): NatsNonces {
  const retry = new BucketRetry(bucket);
  const space = new Space(() => retry.run(() => bucket.status()));
  return {
    async take({ owner, value, expiresAt }) {
      const hasSpace = await space.take();
      if (expiresAt > Date.now() + space.ttlMs) {
        throw new RangeError(
          `the "ttl" of the bucket is ${space.ttlMs} ms, which is too short for this nonce`,
        );
      }
      if (!hasSpace) return "full";
      const name = keyName(JSON.stringify([owner, value]));
      const mark = randomBytes(9).toString("base64url");
      try {
        const isNew = await retry.run(() => createKey(bucket, name, mark));
        return isNew ? "new" : "seen";
      } catch (error) {
        if (streamIsFull.has((error as { code?: unknown }).code)) return "full";
        throw error;
      }
    },
  };
}

/** Most bytes of an entry, with its subject and headers. */
const entryBytes = 512;
/** The part of the bucket that stays unused, and its minimum: hundreds of processes may each take the last entry that they see. */
const reservedShare = 1 / 16;
const leastReserve = 2 ** 17;
const leastBytes = 2 ** 20;
/** Of the space left, each process uses this part before it asks again. */
const ownShare = 1 / 256;
/** After this time other processes may have used the rest. */
const freshMs = 1_000;

/**
 * The space left in a bucket. nats-server underestimates an entry when it checks `max_bytes`, so an entry that does not fit can silently
 * replace the oldest; a reserve prevents that.
 */
class Space {
  /** How long entries are kept; known after the first `take`. */
  ttlMs = 0;
  readonly #status: () => ReturnType<KV["status"]>;
  /** Entries that may be written before asking again. */
  #left = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  #asking: Promise<boolean> | undefined;

  constructor(status: () => ReturnType<KV["status"]>) {
    this.#status = status;
  }

  /** Counts one more entry if it fits. */
  async take(): Promise<boolean> {
    while (this.#left < 1 || performance.now() - this.#askedAt > freshMs) {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = undefined;
      });
      if (!(await this.#asking)) return false;
    }
    this.#left--;
    return true;
  }

  async #ask(): Promise<boolean> {
    const { ttl, size, max_bytes } = await this.#status();
    this.ttlMs = ttl === 0 ? Number.POSITIVE_INFINITY : ttl;
    this.#askedAt = max_bytes > 0 ? performance.now() : Number.POSITIVE_INFINITY;
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
