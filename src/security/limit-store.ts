import { type Clock, systemClock } from "../protocol/clock.ts";
import { limitOf } from "../protocol/limits.ts";
import type { MaybePromise } from "../protocol/message.ts";

/** How much a caller may do: a bucket that holds `capacity` tokens and gets `perSecond` of them back. */
export interface Bucket {
  /** How many tokens a full bucket holds: the largest burst. */
  readonly capacity: number;
  /** How many tokens it gains per second: the steady rate. */
  readonly perSecond: number;
}

/** What became of an attempt to take tokens out of a bucket. */
export interface Taken {
  readonly allowed: boolean;
  /** What is left in the bucket. */
  readonly remaining: number;
}

/** Keeps the buckets of a rate limit: in memory (`memoryLimits`), in Redis, in NATS, or where you like. */
export interface LimitStore {
  /** Takes `cost` tokens out of the bucket of this key, or none where it holds less. */
  take(key: string, cost: number, bucket: Bucket): MaybePromise<Taken>;
}

export interface MemoryLimitsOptions {
  /** Most callers that have a bucket of their own; stops made-up addresses from filling memory. @default 100000 */
  readonly maxKeys?: number;
  /** The clock that fills the buckets, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
}

/** A store that answers at once. */
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
 * Buckets in this process. One that is full again is forgotten. Where there are too many, callers
 * without a bucket share one, so that whoever makes up addresses gets no more by it.
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
  const crowd: Level = { tokens: Number.POSITIVE_INFINITY, at: 0, fullAt: 0 };

  const sweep = (now: number): void => {
    // At most once a second, or each call of a crowd would walk through all of them.
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
        if (levels.size >= maxKeys) level = crowd;
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
