/** Remembers nonces in a key-value bucket of NATS JetStream. @module */
import { Kvm } from "@nats-io/kv";
import { nonceKey } from "./nonce-key.ts";
import type { Nonce, NonceStore, NonceVerdict } from "./nonces.ts";

export interface NatsNoncesOptions {
  /** @default "callwire-nonces" */
  readonly bucket?: string;
  /** How long the bucket keeps each; at least twice the skew of the clocks. @default 125000 */
  readonly ttlMs?: number;
  /** How many servers keep a copy. @default 1 */
  readonly replicas?: number;
  /** How large the bucket may grow; when it is full, nonces are refused. @default 256 MiB */
  readonly maxBytes?: number;
}

const wrongLastSequence = 10071;
const streamIsFull = new Set([10047, 10077, 10122]);

/**
 * Keeps nonces in a bucket that is made if it is not there, for several processes together and
 * beyond a restart. A bucket that is there keeps its own settings, and must keep nonces for as long.
 */
export async function natsNonces(
  connection: ConstructorParameters<typeof Kvm>[0],
  options: NatsNoncesOptions = {},
): Promise<NonceStore> {
  const { bucket = "callwire-nonces", ttlMs = 125_000, replicas = 1 } = options;
  const { maxBytes = 256 * 1024 * 1024 } = options;
  const kv = await new Kvm(connection).create(bucket, {
    ttl: ttlMs,
    replicas,
    max_bytes: maxBytes,
    history: 1,
  });
  const { ttl } = await kv.status();
  if (ttl !== 0 && ttl < ttlMs) {
    throw new RangeError(`the bucket ${bucket} keeps nonces for ${ttl} ms and not for ${ttlMs}`);
  }
  const seen = new Uint8Array(0);
  return {
    async take(nonce: Nonce): Promise<NonceVerdict> {
      if (nonce.expiresAt > Date.now() + ttlMs) {
        throw new RangeError(`the bucket keeps nonces for ${ttlMs} ms, which is too short`);
      }
      try {
        await kv.create(nonceKey(nonce), seen);
        return "new";
      } catch (error) {
        const { code, message } = error as { code?: unknown; message: string };
        if (code === wrongLastSequence || /wrong last sequence/i.test(message)) return "seen";
        if (streamIsFull.has(code as number) || /maximum (bytes|messages)/i.test(message))
          return "full";
        throw error;
      }
    },
  };
}
