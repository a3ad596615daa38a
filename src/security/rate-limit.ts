import { type Clock, systemClock } from "../protocol/clock.ts";
import { CallContext, type Context } from "../protocol/context.ts";
import type { Admit, Handle, Middleware } from "../protocol/handle.ts";
import { failure, isThenable } from "../protocol/message.ts";
import { networkOf } from "../protocol/network.ts";
import type { Transport } from "../protocol/origin.ts";
import { nameMatcher } from "./globs.ts";
import { type Bucket, type LimitStore, memoryLimits, type Taken } from "./limit-store.ts";
import { type Refusal, rateLimited } from "./refusals.ts";
import { SteadyLimits } from "./steady-limits.ts";

export interface RateLimitOptions extends Bucket {
  /**
   * Who has a bucket: an address, before anybody knows who calls from there, or a principal; anonymous
   * callers then count by their address. Callers on wires without addresses are not limited by them.
   * @default "address"
   */
  readonly by?: "address" | "principal";
  /** What calls cost, by names and globs; the highest that fits counts. @default 1 each */
  readonly costs?: Readonly<Record<string, number>>;
  /** The caller's address; behind a proxy, the one that it tells. @default the other end of the wire */
  readonly addressOf?: (transport: Transport) => string | undefined;
  /** Where the buckets are. While it fails or hangs, each process limits by itself. @default memoryLimits() */
  readonly store?: LimitStore;
  /** Whether HTTP replies tell what is left, in `RateLimit` and `RateLimit-Policy`. @default true */
  readonly headers?: boolean;
  /** Joins the segments of names. @default "/" */
  readonly separator?: string;
  /** Tells how long a store takes, and fills the buckets of this process. */
  readonly clock?: Clock;
}

/**
 * Lets each caller do so much in a time. Each call of a batch counts. Connections cost their address
 * one token.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { rateLimit } from "callwire/security";
 *
 * // 100 calls at once and 10 more per second; one that renders costs as much as 20.
 * const limit = rateLimit({ capacity: 100, perSecond: 10, costs: { "render/**": 20 } });
 * const server = createServer(methods, { use: [limit] });
 * ```
 */
export function rateLimit(options: RateLimitOptions): Middleware {
  const { by = "address", capacity, perSecond, headers = true } = options;
  if (!(capacity >= 1 && perSecond > 0 && Number.isFinite(capacity + perSecond))) {
    throw new TypeError(
      "a bucket holds a number of tokens, at least one, and gets more than none per second",
    );
  }
  const bucket: Bucket = { capacity, perSecond };
  const { clock = systemClock } = options;
  const store = new SteadyLimits(options.store ?? memoryLimits({ clock }), clock);
  const costOf = costs(options.costs ?? {}, capacity, options.separator);
  const policy = `"${by}";q=${capacity};w=${Math.ceil(capacity / perSecond)}`;
  // Several limits may share a store, and each counts for itself; one process counts with others that have the same.
  const own = `${capacity}/${perSecond}`;
  const addressKey = (transport: Transport): string | undefined => {
    const address = options.addressOf?.(transport) ?? transport.remoteAddress;
    const kind = by === "address" ? "address" : "anonymous";
    return address === undefined ? undefined : `${own}:${kind}:${networkOf(address)}`;
  };
  const keyOf = ({ principal, transport }: Context): string | undefined =>
    by === "principal" && principal !== undefined
      ? `${own}:principal:${principal.id}`
      : addressKey(transport);

  const refusalOf = ({ allowed, remaining }: Taken, cost: number): Refusal | undefined =>
    allowed
      ? undefined
      : rateLimited(((cost - remaining) / perSecond) * 1_000, `the rate limit by ${by}`);

  const wrap =
    (next: Handle): Handle =>
    (request, context) => {
      const key = keyOf(context);
      if (key === undefined) return next(request, context);
      const cost = costOf(request.method);
      const proceed = (taken: Taken): ReturnType<Handle> => {
        const refusal = refusalOf(taken, cost);
        if (headers) tell(context, by, policy, taken.remaining, capacity, perSecond);
        return refusal === undefined ? next(request, context) : failure(refusal);
      };
      const taken = store.take(key, cost, bucket, context);
      return isThenable(taken) ? taken.then(proceed) : proceed(taken);
    };

  const admit =
    (next: Admit): Admit =>
    (transport) => {
      const key = by === "address" ? addressKey(transport) : undefined;
      if (key === undefined) return next(transport);
      const taken = store.take(key, 1, bucket);
      return isThenable(taken)
        ? taken.then((found) => refusalOf(found, 1) ?? next(transport))
        : (refusalOf(taken, 1) ?? next(transport));
    };

  return Object.assign(wrap, { admit, guards: "rate limit" });
}

/** A call that costs more than a bucket holds needs a full one. */
function costs(
  table: Readonly<Record<string, number>>,
  capacity: number,
  separator: string | undefined,
): (method: string) => number {
  const entries = Object.entries(table).map(([pattern, cost]) => {
    if (!(cost >= 0)) throw new TypeError(`the cost of ${pattern} is a number of at least 0`);
    return { fits: nameMatcher([pattern], separator), cost: Math.min(cost, capacity) };
  });
  if (entries.length === 0) return () => 1;
  return (method) => {
    const fitting = entries.filter(({ fits }) => fits(method));
    return fitting.length === 0 ? 1 : Math.max(...fitting.map(({ cost }) => cost));
  };
}

/** In the form of the IETF's draft on RateLimit headers; the entries of several limits stand side by side. */
function tell(
  context: Context,
  name: string,
  policy: string,
  remaining: number,
  capacity: number,
  perSecond: number,
): void {
  if (context.transport.kind !== "http" || !(context instanceof CallContext)) return;
  const { origin } = context;
  const resetSeconds = Math.ceil((capacity - remaining) / perSecond);
  const limit = `"${name}";r=${Math.floor(remaining)};t=${resetSeconds}`;
  origin.replyHeaders ??= {};
  const { replyHeaders } = origin;
  replyHeaders.ratelimit = joined(replyHeaders.ratelimit, name, limit);
  replyHeaders["ratelimit-policy"] = joined(replyHeaders["ratelimit-policy"], name, policy);
}

/** The calls of a batch each tell, and the last one counts. */
function joined(before: string | undefined, name: string, entry: string): string {
  if (before === undefined) return entry;
  if (!before.includes(`"${name}"`)) return `${before}, ${entry}`;
  const others = before.split(", ").filter((other) => !other.startsWith(`"${name}"`));
  return [...others, entry].join(", ");
}
