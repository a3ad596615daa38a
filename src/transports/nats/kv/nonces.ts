import { randomBytes } from "node:crypto";
import type { KV } from "./client-library.ts";
import { created } from "./created.ts";
import { keyName } from "./key-name.ts";
import { Outage } from "./outage.ts";
import { Room } from "./room.ts";

/** Remembers nonces where all workers see them. */
export interface NatsNonces {
  /** Whether this owner never used it before; `full` where the bucket has no more room. */
  take(nonce: {
    readonly owner: string;
    readonly value: string;
    /** From when on it is refused by its time stamp, in milliseconds since the epoch. */
    readonly expiresAt: number;
  }): Promise<"new" | "seen" | "full">;
}

const streamIsFull = new Set<unknown>([10_047, 10_077, 10_122]);

/**
 * Keeps nonces in a bucket of NATS, for several processes together and beyond a restart. The bucket
 * must keep each for at least twice the skew of the clocks, and forgets it by itself. When a sixteenth of it is
 * left (128 KiB at least) it refuses; while nobody leads it, callers wait:
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
  const outage = new Outage(bucket);
  const room = new Room(bucket, outage);
  return {
    async take({ owner, value, expiresAt }) {
      const hasRoom = await room.take();
      if (expiresAt > Date.now() + room.ttlMs) {
        throw new RangeError(`the bucket keeps nonces for ${room.ttlMs} ms, which is too short`);
      }
      if (!hasRoom) return "full";
      const name = keyName(JSON.stringify([owner, value]));
      const mark = randomBytes(9).toString("base64url");
      try {
        const isNew = await outage.bridge(() => created(bucket, name, mark));
        return isNew ? "new" : "seen";
      } catch (error) {
        const { code, message } = error as { code?: unknown; message: string };
        if (streamIsFull.has(code) || /maximum (bytes|messages)/i.test(message)) return "full";
        throw error;
      }
    },
  };
}
