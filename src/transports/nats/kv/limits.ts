import { type Clock, systemClock } from "../../../protocol/clock.ts";
import type { KV } from "./client-library.ts";
import { keyName } from "./key-name.ts";
import { revisionOf } from "./revision.ts";

/** How full a bucket was, and when. */
interface Level {
  readonly tokens: number;
  readonly at: number;
}

/** Keeps token buckets for rate limits where all workers see them. */
export interface NatsLimits {
  /** Takes `cost` tokens out of the bucket of this key, or none where it holds less. */
  take(
    key: string,
    cost: number,
    bucket: { readonly capacity: number; readonly perSecond: number },
  ): Promise<{ readonly allowed: boolean; readonly remaining: number }>;
}

/** So often another worker may have been first before the key counts as one that is hammered. */
const mostTries = 20;

/**
 * Rate limits that hold for all workers together. Each call costs two round trips to NATS, so it suits
 * limits that are worth that, such as those of a costly method. Give the bucket a `ttl` of at least
 * `capacity / perSecond` seconds: a key that is forgotten has a full bucket.
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
        // Never back: between two workers whose clocks differ, the same time would be gained again and again.
        const level = { tokens: held - cost, at: Math.max(at, now) } satisfies Level;
        const text = JSON.stringify(level);
        const write =
          known === undefined ? store.create(name, text) : store.update(name, text, known.revision);
        if ((await revisionOf(write)) !== undefined)
          return { allowed: true, remaining: held - cost };
      }
      return { allowed: false, remaining: 0 };
    },
  };
}
