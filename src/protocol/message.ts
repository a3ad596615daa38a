import type { Attachments } from "./attachments.ts";

/** Pairs a reply with its request. */
export type Id = string | number | null;

/**
 * The values that JSON cannot express, as paths (JSON Pointers) in the params, the result or the data of the error, by
 * the names of their types: `{ "date": ["/at"] }`.
 */
export type TypedPaths = { readonly [type: string]: readonly string[] };

/** The `types` of a message without rich values. One object, so that a comparison by identity recognises it. */
export const noTypes: TypedPaths = {};

/** Arguments by position or by name. */
export type Params = readonly unknown[] | { readonly [name: string]: unknown };

/**
 * A request as sent. Without an `id` it is a notification. A 1.0 request has no `jsonrpc` member; its id may be any
 * scalar.
 */
export interface Request {
  readonly jsonrpc?: "2.0" | undefined;
  readonly method: string;
  readonly params?: Params | undefined;
  readonly id?: Id | undefined;
  /** How long the caller still waits. */
  readonly timeoutMs?: number | undefined;
  /** Items of a stream that may be sent before the reader grants more; only on wires with credit. */
  readonly credit?: number | undefined;
  /** W3C trace context, for wires without headers. */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  readonly baggage?: string | undefined;
  /** Types of rich values in the params. Its presence says that the caller accepts rich values. */
  readonly types?: TypedPaths | undefined;
  /** Whether the caller sends items while the call runs, as the callee asks for them. */
  readonly upload?: true | undefined;
  /** Bytes that travel beside it, on links that carry them; never part of its JSON. */
  readonly attachments?: Attachments | undefined;
}

/** The error member of a response. */
export interface ErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The outcome of a request: an error if `error` is set, otherwise a result. */
export interface Reply {
  readonly result: unknown;
  readonly error: ErrorObject | undefined;
  /** Types of rich values, if the result or the data of the error is already in its JSON form. */
  readonly types?: TypedPaths | undefined;
  /** Bytes that travel beside it, if the result is already in its JSON form. */
  readonly attachments?: Attachments | undefined;
}

/**
 * A successful reply, for middleware that answers a request itself.
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
 * A failed reply, for middleware that answers a request itself.
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

/** A value or a thenable of it. */
export type MaybePromise<T> = T | PromiseLike<T>;

export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

/** Continues with a value: at once unless it is a promise. */
export function andThen<T, R>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return isThenable(value) ? value.then(next) : next(value);
}

/** In 1.0 a notification has the id null, in 2.0 none. */
export function isNotification({ jsonrpc, id }: Request): boolean {
  return jsonrpc === undefined ? id === null || id === undefined : id === undefined;
}

let last = 0;

/** A new id, unique in this process, so that links can be shared and swapped. */
export function nextId(): number {
  // At a million a second, numbers are exact for another 285 years.
  return ++last;
}
