import { createHash, randomBytes } from "node:crypto";
import type { Nonce, NonceDecision, NonceStore } from "./nonce-store.ts";
import { type RedisClient, redisCommand } from "./redis-limits.ts";

export interface RedisNoncesOptions {
  /** Prefix of every key. @default "callwire:nonce:" */
  readonly prefix?: string;
}

/** Extra time to keep a nonce, since the clocks of Redis and this process may differ. */
const spareMs = 5_000;

/**
 * Keeps nonces in Redis, shared by several processes and across restarts. Redis must not evict keys
 * (`maxmemory-policy noeviction`), or messages could be replayed. If Redis is full, messages are refused.
 * @example
 * ```ts
 * import { createSigningKey, signedRequests } from "callwire/security/signing";
 * import { type RedisClient, redisNonces } from "callwire/security/signing";
 *
 * declare const redis: RedisClient; // of the package "redis" or "ioredis"
 * const { verifier } = createSigningKey("ed25519", "client-1");
 * const credential = signedRequests({ keys: [verifier], nonces: redisNonces(redis) });
 * ```
 */
export function redisNonces(client: RedisClient, options: RedisNoncesOptions = {}): NonceStore {
  const { prefix = "callwire:nonce:" } = options;
  return {
    async take(nonce: Nonce): Promise<NonceDecision> {
      const key = prefix + nonceKey(nonce);
      const mark = randomBytes(9).toString("base64url");
      const keepMs = `${Math.ceil(Math.max(1, nonce.expiresAt - Date.now()) + spareMs)}`;
      try {
        const set = await redisCommand(client, "SET", key, mark, "NX", "PX", keepMs);
        if (String(set) === "OK") return "new";
        // It may be our own: `ioredis` repeats a command if the connection broke before the reply.
        const kept = await redisCommand(client, "GET", key);
        return String(kept) === mark ? "new" : "seen";
      } catch (error) {
        if (/^OOM\b/.test((error as Error).message)) return "full";
        throw error;
      }
    },
  };
}

/** A key of fixed length for a nonce, without any characters that a caller chose. */
function nonceKey({ owner, value }: Nonce): string {
  return createHash("sha256").update(`${owner.length}:${owner}${value}`).digest("base64url");
}
