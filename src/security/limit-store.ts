import { type Clock, systemClock } from "../protocol/clock.ts";
import { limitOf } from "../protocol/limits.ts";
import type { MaybePromise } from "../protocol/message.ts";

/** A token bucket; a call takes tokens out of it. */
export interface Bucket {
  /** Most tokens in the bucket: how many calls a caller can make at once. */
  readonly capacity: number;
  /** Tokens added per second. */
  readonly perSecond: number;
}

/** The outcome of taking tokens out of a bucket. */
export interface Taken {
  readonly allowed: boolean;
  /** Tokens left in the bucket. */
  readonly remaining: number;
}

/** Keeps the buckets of a rate limit: in memory, in Redis, in NATS, or in a store of your own. */
export interface LimitStore {
  /** Takes `cost` tokens out of the bucket of this key, or none if it has fewer. */
  take(key: string, cost: number, bucket: Bucket): MaybePromise<Taken>;
}

export interface MemoryLimitsOptions {
  /** Most callers with a bucket of their own; stops made-up addresses from filling memory. @default 100000 */
  readonly maxKeys?: number;
  /** Refills the buckets. @default the system clock */
  readonly clock?: Clock;
}

/** A store that answers synchronously. */
export interface MemoryLimits extends LimitStore {
  /** As in `LimitStore`, but at once. */
  take(key: string, cost: number, bucket: Bucket): Taken;
}

interface Level {
  tokens: number;
  at: number;
  fullAt: number;
}

/**
 * Keeps buckets in this process. Full buckets are dropped. Above `maxKeys`, new callers share one
 * bucket, so that making up addresses does not help.
 * @example
 * ```ts
 * import { memoryLimits, rateLimit } from "callwire/security";
 *
 * // Two limits that share one store.
 * const store = memoryLimits({ maxKeys: 10_000 });
 * const use = [
 *   rateLimit({ by: "address", capacity: 200, perSecond: 100, store }),
 *   rateLimit({ by: "principal", capacity: 400, perSecond: 200, store }),
 * ];
 * ```
 */
export function memoryLimits(options: MemoryLimitsOptions = {}): MemoryLimits {
  const { clock = systemClock } = options;
  const maxKeys = limitOf("maxKeys", options.maxKeys, 100_000);
  const levels = new Map<string, Level>();
  let sweptAt = Number.NEGATIVE_INFINITY;
  const sharedLevel: Level = { tokens: Number.POSITIVE_INFINITY, at: 0, fullAt: 0 };

  const sweep = (now: number): void => {
    // At most once a second, or each call of a new caller would scan all buckets.
    if (now - sweptAt < 1_000) return;
    sweptAt = now;
    for (const [key, { fullAt }] of levels) if (fullAt <= now) levels.delete(key);
  };

  return {
    take(key, cost, bucket) {
      const now = clock.elapsed();
      let level = levels.get(key);
      if (level === undefined) {
        if (levels.size >= maxKeys) sweep(now);
        if (levels.size >= maxKeys) level = sharedLevel;
        else {
          level = { tokens: bucket.capacity, at: now, fullAt: now };
          levels.set(key, level);
        }
      }
      const gained = (Math.max(0, now - level.at) * bucket.perSecond) / 1_000;
      level.tokens = Math.min(bucket.capacity, level.tokens + gained);
      level.at = now;
      const allowed = level.tokens >= cost;
      if (allowed) level.tokens -= cost;
      level.fullAt = now + ((bucket.capacity - level.tokens) / bucket.perSecond) * 1_000;
      return { allowed, remaining: level.tokens };
    },
  };
}
