import { nonceKey } from "./nonce-key.ts";
import type { Nonce, NonceStore, NonceVerdict } from "./nonces.ts";

/** A bucket of keys and values of NATS JetStream, as the package `@nats-io/kv` has it. */
export interface NatsBucket {
  create(key: string, value: Uint8Array): Promise<unknown>;
  /** How long it keeps an entry, in milliseconds; 0 keeps all of them. */
  status(): Promise<{ readonly bucket: string; readonly ttl: number }>;
}

const wrongLastSequence = new Set<unknown>([10071, 10164]);
const streamIsFull = new Set<unknown>([10047, 10077, 10122]);

/**
 * Keeps nonces in a bucket of NATS, for several processes together and beyond a restart. The bucket
 * must keep each for at least twice the skew of the clocks, and forgets it by itself. When it is full
 * it refuses:
 *
 *     const bucket = await new Kvm(connection).create("nonces", { ttl: 125_000, max_bytes: 2 ** 28 });
 *     signedRequests({ keys, nonces: natsNonces(bucket) });
 */
export function natsNonces(bucket: NatsBucket): NonceStore {
  const mark = new Uint8Array(0);
  let keptMs: number | undefined;
  const kept = async (): Promise<number> => {
    const { ttl } = await bucket.status();
    keptMs = ttl === 0 ? Number.POSITIVE_INFINITY : ttl;
    return keptMs;
  };
  return {
    async take(nonce: Nonce): Promise<NonceVerdict> {
      const ttl = keptMs ?? (await kept());
      if (nonce.expiresAt > Date.now() + ttl) {
        throw new RangeError(`the bucket keeps nonces for ${ttl} ms, which is too short`);
      }
      try {
        await bucket.create(nonceKey(nonce), mark);
        return "new";
      } catch (error) {
        const { code, message } = error as { code?: unknown; message: string };
        if (wrongLastSequence.has(code)) return "seen";
        if (streamIsFull.has(code) || /maximum (bytes|messages)/i.test(message)) return "full";
        throw error;
      }
    },
  };
}
