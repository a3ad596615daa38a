import { createHash, randomBytes } from "node:crypto";
import type { Nonce, NonceStore, NonceVerdict } from "./nonce-store.ts";
import { type RedisClient, redisCommand } from "./redis-limits.ts";

export interface RedisNoncesOptions {
  /** Before every key. @default "callwire:nonce:" */
  readonly prefix?: string;
}

/** How much longer than needed a nonce is kept; the clocks of Redis and of this process differ. */
const spareMs = 5_000;

/**
 * Keeps nonces in Redis, for several processes together and beyond a restart. Redis must not evict
 * (`maxmemory-policy noeviction`): what it forgets early can be replayed. When it is full it refuses.
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

/** Stands for a nonce in a store: the same length for any, and nothing in it that a caller chose. */
export function nonceKey({ owner, value }: Nonce): string {
  return createHash("sha256").update(`${owner.length}:${owner}${value}`).digest("base64url");
}
