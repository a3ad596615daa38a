import type { Bucket, LimitStore, Taken } from "./limit-store.ts";

export interface RedisLimitsOptions {
  /** Prefix of every key. @default "callwire:limit:" */
  readonly prefix?: string;
}

/** Atomic, so that two processes never take the same token; uses the clock of Redis. */
const script = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local capacity, rate, cost = tonumber(ARGV[1]), tonumber(ARGV[2]) / 1000, tonumber(ARGV[3])
local level = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(level[1]) or capacity
local at = tonumber(level[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - at) * rate)
local allowed = 0
if tokens >= cost then
  tokens = tokens - cost
  allowed = 1
end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil((capacity - tokens) / rate) + 1000)
return { allowed, tostring(tokens) }
`;

/**
 * Keeps buckets in Redis, shared by several processes.
 * @example
 * ```ts
 * import { rateLimit, type RedisClient, redisLimits } from "callwire/security";
 *
 * declare const redis: RedisClient; // of the package "redis" or "ioredis"
 * const store = redisLimits(redis);
 * const use = [rateLimit({ by: "principal", capacity: 100, perSecond: 10, store })];
 * ```
 */
export function redisLimits(client: RedisClient, options: RedisLimitsOptions = {}): LimitStore {
  const { prefix = "callwire:limit:" } = options;
  return {
    async take(key: string, cost: number, { capacity, perSecond }: Bucket): Promise<Taken> {
      const args = [capacity, perSecond, cost].map(String);
      const reply = await redisCommand(client, "EVAL", script, "1", prefix + key, ...args);
      const [allowed, tokens] = reply as [number | string, string];
      return { allowed: Number(allowed) === 1, remaining: Number(tokens) };
    },
  };
}

/** A Redis client of the package `redis` or `ioredis`. */
export type RedisClient =
  | { sendCommand(args: string[]): Promise<unknown> }
  | { call(command: string, ...args: string[]): Promise<unknown> };

/** Sends a command with either client. */
export function redisCommand(
  client: RedisClient,
  ...args: [string, ...string[]]
): Promise<unknown> {
  // `ioredis` also has `sendCommand`, with other arguments.
  return "call" in client ? client.call(...args) : client.sendCommand(args);
}
