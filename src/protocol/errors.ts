import type { ErrorObject } from "./message.ts";

/** Codes of the specification, of LSP (-32800), and our own within -32000…-32019. */
export const ErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  Unauthenticated: -32001,
  RequestTimeout: -32003,
  Forbidden: -32004,
  ServerBusy: -32005,
  ShuttingDown: -32006,
  StreamRequired: -32007,
  ReplyTooLarge: -32008,
  UpstreamFailed: -32009,
  RateLimited: -32010,
  RequestCancelled: -32800,
} as const;

/** Members of an error besides code, message and data. They are not part of the JSON-RPC error. */
export interface RpcErrorOptions {
  /** The original error, for logs; never sent. */
  readonly cause?: unknown;
  /** The HTTP status of the response; for a batch only if every call fails with this error. @default 200 */
  readonly status?: number;
  /** HTTP headers to send with that status. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Key of the names by which an error is narrowed; no value is ever stored under it. */
declare const errorName: unique symbol;

/** Members of an error that are logged and never sent. */
export interface Undisclosed {
  /** A sentence on why, such as which rule rejected the call. */
  readonly reason?: string;
  /** The id of the log entry with the full error. */
  readonly correlationId?: string;
  readonly cause?: unknown;
}

/**
 * An error of a method: if a handler throws it, the caller gets its code, message and data.
 * @example
 * ```ts
 * import { method, RpcError } from "callwire";
 * import { z } from "zod";
 *
 * const find = method({ params: z.object({ id: z.number() }) }, ({ id }) => {
 *   throw new RpcError(1001, "No such user", { id });
 * });
 * ```
 */
export class RpcError<Code extends number = number, Data = unknown, Name extends string = string>
  extends Error
  implements ErrorObject
{
  declare readonly [errorName]?: Name;
  readonly code: Code;
  readonly data: Data;
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** The name under which its method declares it; null if it does not, missing if only its server knows. Never sent. */
  declare declared?: string | null;

  constructor(code: Code, message: string, data?: Data, options: RpcErrorOptions = {}) {
    super(message, options);
    this.name = "RpcError";
    if (!Number.isInteger(code)) throw new TypeError(`code must be an integer, not ${code}`);
    this.code = code;
    this.data = data as Data;
    this.status = options.status;
    this.headers = options.headers;
  }
}

/**
 * The error that a server sent. Thrown by clients. If a handler does not catch it, the handler's own
 * caller gets "Internal error", because the errors of other servers are not meant for it. To pass one
 * on, catch it and throw an `RpcError`.
 * @example
 * ```ts
 * import { RemoteError, RpcError } from "callwire";
 *
 * async function proxied(): Promise<string> {
 *   try {
 *     return await api.echo("hi");
 *   } catch (error) {
 *     if (error instanceof RemoteError) throw new RpcError(1002, "The echo service failed");
 *     throw error;
 *   }
 * }
 * ```
 */
export class RemoteError<Code extends number = number, Data = unknown> extends RpcError<
  Code,
  Data
> {
  /** The method that was called; not enumerable, so that errors of different calls compare as equal. */
  declare readonly method?: string;

  static from(error: ErrorObject, method?: string): RpcError {
    if (error instanceof RpcError) return error;
    const own = new RemoteError(error.code, error.message, error.data);
    return Object.defineProperty(own, "method", { value: method });
  }

  /** With the method, for logs; `message` stays as it was sent. */
  override toString(): string {
    return this.method ? `${super.toString()} (${this.method})` : super.toString();
  }
}

/** The names that an error of this type can have. */
type NameOfError<Thrown> = unknown extends Thrown
  ? string
  : Thrown extends RpcError<number, unknown, infer Name>
    ? Exclude<Name, "">
    : never;

type ErrorNamed<Thrown, Name extends string> = unknown extends Thrown
  ? RpcError<number, unknown, Name>
  : Extract<Thrown, RpcError<number, unknown, Name>>;

/**
 * Whether something is an `RpcError`, optionally with this code, or declared under this name. Clients know names only
 * by `contractOptions`; for an error of another client a name throws a `TypeError`.
 * @example
 * ```ts
 * import { ErrorCode, isRpcError } from "callwire";
 *
 * try {
 *   await api.echo("hi");
 * } catch (error) {
 *   if (isRpcError(error, ErrorCode.MethodNotFound)) console.log("the server is too old");
 *   else throw error;
 * }
 * ```
 */
export function isRpcError<Code extends number>(
  error: unknown,
  code: Code,
): error is RpcError<Code>;
export function isRpcError<Thrown, Name extends NameOfError<Thrown>>(
  error: Thrown,
  name: Name,
): error is Thrown & ErrorNamed<Thrown, Name>;
export function isRpcError(error: unknown): error is RpcError;
export function isRpcError(error: unknown, which?: number | string): boolean {
  if (!(error instanceof RpcError)) return false;
  if (typeof which !== "string") return which === undefined || error.code === which;
  if (error.declared === undefined && error instanceof RemoteError) {
    const sentence = `whether the error ${error.code} is ${which} is unknown: use contractOptions, or compare codes`;
    throw new TypeError(sentence, { cause: error });
  }
  return error.declared === which;
}

/** What failed locally or on the connection. The codes are stable. */
export type WireErrorCode =
  /** The connection broke while the call was open; whether it ran is unknown. */
  | "CONNECTION_LOST"
  /** Connecting failed; the call did not run. */
  | "CONNECTION_FAILED"
  /** One side closed the connection on purpose. */
  | "CLOSED"
  /** The call took longer than its caller allows. */
  | "TIMEOUT"
  /** The caller's signal aborted. */
  | "ABORTED"
  /** The reply does not answer the call, such as a stream instead of a result. */
  | "BAD_REPLY"
  /** An HTTP error status without a JSON-RPC body. */
  | "HTTP_STATUS"
  /** A local limit rejected a message to send or a received one. */
  | "TOO_LARGE"
  /** The transport cannot do this, such as calling back over plain HTTP. */
  | "UNSUPPORTED";

/**
 * A local failure or one of the connection; it was never sent as a JSON-RPC error.
 * @example
 * ```ts
 * import { WireError } from "callwire";
 *
 * try {
 *   await api.echo("hi");
 * } catch (error) {
 *   if (error instanceof WireError && error.code === "TIMEOUT") console.log("no reply in time");
 *   else throw error;
 * }
 * ```
 */
export class WireError extends Error {
  readonly code: WireErrorCode;
  /** The HTTP status, if there was one. */
  readonly status: number | undefined;

  constructor(
    code: WireErrorCode,
    message: string,
    options: { cause?: unknown; status?: number | undefined } = {},
  ) {
    super(message, options);
    this.name = "WireError";
    this.code = code;
    this.status = options.status;
  }
}
