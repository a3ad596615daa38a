import { type Clock, systemClock } from "../../../protocol/clock.ts";
import { type KV, keyName, revisionOf } from "./bucket.ts";

/** How full a token bucket was, and when. */
interface Level {
  readonly tokens: number;
  readonly at: number;
}

/** Stores token buckets for rate limits, for all workers together. */
export interface NatsLimits {
  /** Takes `cost` tokens from the token bucket of this key, or none if it holds fewer. */
  take(
    key: string,
    cost: number,
    bucket: { readonly capacity: number; readonly perSecond: number },
  ): Promise<{ readonly allowed: boolean; readonly remaining: number }>;
}

/** After this many lost races with other workers the call is refused. */
const mostTries = 20;

/**
 * Rate limits that hold for all workers together. Each call costs two round trips to NATS, so use it for limits that are worth that. Give
 * the bucket a `ttl` of at least `capacity / perSecond` seconds: a key that has expired has all its tokens.
 * @example
 * ```ts
 * import { Kvm } from "@nats-io/kv";
 * import { connect } from "@nats-io/transport-node";
 * import { natsLimits } from "callwire/nats/kv";
 * import { rateLimit } from "callwire/security";
 *
 * const buckets = new Kvm(await connect({ maxReconnectAttempts: -1 }));
 * const store = natsLimits(await buckets.create("limits", { ttl: 60_000 }));
 * const use = [rateLimit({ by: "principal", capacity: 100, perSecond: 10, store })];
 * ```
 */
export function natsLimits(store: KV, options: { readonly clock?: Clock } = {}): NatsLimits {
  const { clock = systemClock } = options;
  return {
    async take(key, cost, { capacity, perSecond }) {
      const name = keyName(key);
      for (let tries = 0; tries < mostTries; tries++) {
        const entry = await store.get(name);
        const known = entry?.operation === "PUT" ? entry : undefined;
        const now = clock.now();
        const { tokens, at } = known?.json<Level>() ?? { tokens: capacity, at: now };
        const gained = (Math.max(0, now - at) * perSecond) / 1_000;
        const held = Math.min(capacity, tokens + gained);
        if (held < cost) return { allowed: false, remaining: held };
        // Never backwards: between two workers whose clocks differ, the same time would count repeatedly.
        const level = { tokens: held - cost, at: Math.max(at, now) } satisfies Level;
        const write = store.put(name, JSON.stringify(level), { previousSeq: entry?.revision ?? 0 });
        if ((await revisionOf(write)) !== undefined)
          return { allowed: true, remaining: held - cost };
      }
      return { allowed: false, remaining: 0 };
    },
  };
}
