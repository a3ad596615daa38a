/** What pairs a reply with its request. */
export type Id = string | number | null;

/** Arguments by position or by name. */
export type Params = readonly unknown[] | { readonly [name: string]: unknown };

/**
 * A request as it stands on the wire. Without an `id` it is a notification.
 * A 1.0 request has no `jsonrpc` member; its id may be any scalar.
 */
export interface Request {
  readonly jsonrpc?: "2.0" | undefined;
  readonly method: string;
  readonly params?: Params | undefined;
  readonly id?: Id | undefined;
  /** How long the caller is still willing to wait. */
  readonly timeoutMs?: number | undefined;
  /** So many items of a stream may come before its reader speaks of credit; only on wires that let it. */
  readonly credit?: number | undefined;
  /** W3C trace context, for wires without headers. */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/** The error member of a response. */
export interface ErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** How a request ended: an error when `error` is set, otherwise a result. */
export interface Reply {
  readonly result: unknown;
  readonly error: ErrorObject | undefined;
}

/**
 * The reply of a request that succeeded, for middleware that answers by itself.
 * @example
 * ```ts
 * import { type Middleware, success } from "callwire";
 *
 * const cache = new Map<string, unknown>();
 * const cached: Middleware = (next) => (request, context) =>
 *   cache.has(request.method) ? success(cache.get(request.method)) : next(request, context);
 * ```
 */
export function success(result: unknown): Reply {
  return { result, error: undefined };
}

/**
 * The reply of a request that failed, for middleware that answers by itself.
 * @example
 * ```ts
 * import { failure, type Middleware, RpcError } from "callwire";
 *
 * const closedForNow = failure(new RpcError(-32000, "Closed for maintenance"));
 * const maintenance: Middleware = () => () => closedForNow;
 * ```
 */
export function failure(error: ErrorObject): Reply {
  return { result: undefined, error };
}

/** A value now or later. */
export type MaybePromise<T> = T | PromiseLike<T>;

export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

/** In 1.0 a notification has the id null, in 2.0 it has none. */
export function isNotification({ jsonrpc, id }: Request): boolean {
  return jsonrpc === undefined ? id === null || id === undefined : id === undefined;
}
