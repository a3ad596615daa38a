import { type Clock, systemClock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import type { Admit, Handle, Middleware } from "../protocol/handle.ts";
import { failure, isThenable } from "../protocol/message.ts";
import { networkOf } from "../protocol/network.ts";
import type { Transport } from "../protocol/origin.ts";
import { type Refusal, rateLimited } from "./access-errors.ts";
import { FallbackLimits } from "./fallback-limits.ts";
import { type Bucket, type LimitStore, memoryLimits, type Taken } from "./limit-store.ts";
import { nameMatcher } from "./name-patterns.ts";

export interface RateLimitOptions extends Bucket {
  /**
   * Whether each address or each principal has a bucket. By address works before authentication. By
   * principal, anonymous callers count by address. Wires without addresses are not limited by address; if HTTP or
   * WebSocket is one, a warning is logged once.
   * @default "address"
   */
  readonly by?: "address" | "principal";
  /** Tokens per call, by method name or glob; the highest match counts. @default 1 each */
  readonly costs?: Readonly<Record<string, number>>;
  /** Finds the caller's address, such as in a header of your proxy; clients can forge headers without one. @default the remote address of the connection */
  readonly addressOf?: (transport: Transport) => string | undefined;
  /** Where the buckets are kept. While the store fails or hangs, each process limits on its own. @default memoryLimits() */
  readonly store?: LimitStore;
  /** Whether HTTP replies have the headers `RateLimit` and `RateLimit-Policy`. @default true */
  readonly headers?: boolean;
  /** Separates the segments of method names. @default "/" */
  readonly separator?: string;
  /** Times the store and refills the buckets of this process. @default the system clock */
  readonly clock?: Clock;
}

/**
 * Limits how much each caller may do per second. Each call of a batch counts, and a new connection
 * costs its address one token.
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
      `"capacity" must be at least 1 and "perSecond" above 0, not ${capacity} and ${perSecond}`,
    );
  }
  const bucket: Bucket = { capacity, perSecond };
  const { clock = systemClock } = options;
  const store = new FallbackLimits(options.store ?? memoryLimits({ clock }), clock);
  const costOf = costs(options.costs ?? {}, capacity, options.separator);
  const policy = `"${by}";q=${capacity};w=${Math.ceil(capacity / perSecond)}`;
  // Keeps limits apart that share a store; processes with the same limit share its buckets.
  const own = `${capacity}/${perSecond}`;
  const keyOfNetwork = keys(`${own}:${by === "address" ? "address" : "anonymous"}:`);
  const keyOfPrincipal = keys(`${own}:principal:`);
  const addressKey = (transport: Transport): string | undefined => {
    const address = options.addressOf?.(transport) ?? transport.remoteAddress;
    return address === undefined ? undefined : keyOfNetwork(networkOf(address));
  };
  const keyOf = ({ principal, transport }: Context): string | undefined =>
    by === "principal" && principal !== undefined
      ? keyOfPrincipal(principal.id)
      : addressKey(transport);

  const refusalOf = ({ allowed, remaining }: Taken, cost: number): Refusal | undefined =>
    allowed
      ? undefined
      : rateLimited(((cost - remaining) / perSecond) * 1_000, `the rate limit by ${by}`);

  let isWarned = false;
  /** Warns once if callers over a network cannot be distinguished; other wires have no addresses. */
  const warnUnlimited = ({ transport: { kind }, log }: Context): void => {
    if (isWarned || (kind !== "http" && kind !== "websocket")) return;
    isWarned = true;
    log.warn(
      { transport: kind },
      "calls are not limited by address, because the address of the client is unknown; see remoteAddress of fetchHandler and addressOf of rateLimit",
    );
  };

  const wrap =
    (next: Handle): Handle =>
    (request, context) => {
      const key = keyOf(context);
      if (key === undefined) {
        warnUnlimited(context);
        return next(request, context);
      }
      const cost = costOf(request.method);
      const proceed = (taken: Taken): ReturnType<Handle> => {
        const refusal = refusalOf(taken, cost);
        if (headers) setHeaders(context, by, policy, taken.remaining, capacity, perSecond);
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

/** Keeps the last key: the next call often has the same, and V8 hashes a string once. */
function keys(prefix: string): (name: string) => string {
  let last: string | undefined;
  let key = "";
  return (name) => {
    if (name !== last) {
      last = name;
      key = prefix + name;
    }
    return key;
  };
}

/** A call that costs more than the capacity needs a full bucket. */
function costs(
  table: Readonly<Record<string, number>>,
  capacity: number,
  separator: string | undefined,
): (method: string) => number {
  const entries = Object.entries(table).map(([pattern, cost]) => {
    if (!(cost >= 0))
      throw new TypeError(`the cost of "${pattern}" must be a number of at least 0, not ${cost}`);
    return { fits: nameMatcher([pattern], separator), cost: Math.min(cost, capacity) };
  });
  if (entries.length === 0) return () => 1;
  return (method) => {
    const fitting = entries.filter(({ fits }) => fits(method));
    return fitting.length === 0 ? 1 : Math.max(...fitting.map(({ cost }) => cost));
  };
}

/** Sets the headers of the IETF draft on RateLimit; several limits are joined by commas. */
function setHeaders(
  context: Context,
  name: string,
  policy: string,
  remaining: number,
  capacity: number,
  perSecond: number,
): void {
  const origin = context.incoming?.origin;
  if (context.transport.kind !== "http" || origin === undefined) return;
  const resetSeconds = Math.ceil((capacity - remaining) / perSecond);
  const limit = `"${name}";r=${Math.floor(remaining)};t=${resetSeconds}`;
  origin.replyHeaders ??= {};
  const { replyHeaders } = origin;
  replyHeaders.ratelimit = joined(replyHeaders.ratelimit, name, limit);
  replyHeaders["ratelimit-policy"] = joined(replyHeaders["ratelimit-policy"], name, policy);
}

/** Replaces an earlier entry of the same limit, so that the last call of a batch counts. */
function joined(before: string | undefined, name: string, entry: string): string {
  if (before === undefined) return entry;
  if (!before.includes(`"${name}"`)) return `${before}, ${entry}`;
  const others = before.split(", ").filter((other) => !other.startsWith(`"${name}"`));
  return [...others, entry].join(", ");
}
