import { randomBytes } from "node:crypto";
import { nonceKey } from "./nonce-key.ts";
import type { Nonce, NonceStore, NonceVerdict } from "./nonces.ts";
import { type RedisClient, redisCommand } from "./redis-client.ts";

export interface RedisNoncesOptions {
  /** Before every key. @default "callwire:nonce:" */
  readonly prefix?: string;
}

/** How much longer than needed a nonce is kept; the clocks of Redis and of this process differ. */
const spareMs = 5_000;

/**
 * Keeps nonces in Redis, for several processes together and beyond a restart. Redis must not evict
 * (`maxmemory-policy noeviction`): what it forgets early can be replayed. When it is full it refuses.
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
    async take(nonce: Nonce): Promise<NonceVerdict> {
      const key = prefix + nonceKey(nonce);
      const mark = randomBytes(9).toString("base64url");
      const keepMs = `${Math.ceil(Math.max(1, nonce.expiresAt - Date.now()) + spareMs)}`;
      try {
        const set = await redisCommand(client, "SET", key, mark, "NX", "PX", keepMs);
        if (String(set) === "OK") return "new";
        // It may be our own: `ioredis` sends a command again whose answer was lost with its connection.
        const kept = await redisCommand(client, "GET", key);
        return String(kept) === mark ? "new" : "seen";
      } catch (error) {
        if (/^OOM\b/.test((error as Error).message)) return "full";
        throw error;
      }
    },
  };
}
