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

/** What an error has beside code, message and data. Nothing of it is part of the JSON-RPC error. */
export interface RpcErrorOptions {
  /** What was caught, for logs; it is never sent. */
  readonly cause?: unknown;
  /** The HTTP status of a call that fails with this error, or of a batch of nothing else. @default 200 */
  readonly status?: number;
  /** HTTP headers to send beside that status. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What stays at this end of an error: for logs, audits and whoever may know more than the caller. */
export interface Undisclosed {
  /** One sentence on why, such as which rule refused the call. */
  readonly reason?: string;
  /** Under which the log has the whole story. */
  readonly correlationId?: string;
  readonly cause?: unknown;
}

/**
 * An error that travels: thrown by a handler, it reaches the caller with its code, message and data.
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
export class RpcError<Code extends number = number, Data = unknown>
  extends Error
  implements ErrorObject
{
  readonly code: Code;
  readonly data: Data;
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(code: Code, message: string, data?: Data, options: RpcErrorOptions = {}) {
    super(message, options);
    this.name = "RpcError";
    if (!Number.isInteger(code)) throw new TypeError(`an error code is an integer, not ${code}`);
    this.code = code;
    this.data = data as Data;
    this.status = options.status;
    this.headers = options.headers;
  }
}

/**
 * What another end answered a call of ours with. Thrown by clients. When a handler lets it pass,
 * its own caller hears "Internal error": that somebody else's method was not found, or what it
 * said of its insides, is not for them. To pass it on, catch it and throw an error of your own.
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
  static from(error: ErrorObject): RpcError {
    return error instanceof RpcError
      ? error
      : new RemoteError(error.code, error.message, error.data);
  }
}

/**
 * The error for params that pass the schema but not a rule of yours; `details` is sent to the caller.
 * @example
 * ```ts
 * import { invalidParams, method } from "callwire";
 * import { z } from "zod";
 *
 * const withdraw = method({ params: z.object({ amount: z.number() }) }, ({ amount }) => {
 *   if (amount > 100) throw invalidParams("the amount must be at most 100");
 *   return { withdrawn: amount };
 * });
 * ```
 */
export function invalidParams(details: string): RpcError<-32602, { details: string }> {
  return new RpcError(ErrorCode.InvalidParams, "Invalid params", { details });
}

/**
 * Tells an error of the wire from anything else, and narrows its code.
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
export function isRpcError(error: unknown): error is RpcError;
export function isRpcError(error: unknown, code?: number): boolean {
  return error instanceof RpcError && (code === undefined || error.code === code);
}

/** What went wrong at this end or on the wire; it stays the same from version to version. */
export type WireErrorCode =
  /** The wire broke while the call was open; whether it ran is unknown. */
  | "CONNECTION_LOST"
  /** No connection could be made; the call did not run. */
  | "CONNECTION_FAILED"
  /** This end or the other closed on purpose. */
  | "CLOSED"
  /** The caller's time ran out. */
  | "TIMEOUT"
  /** The caller's signal aborted. */
  | "ABORTED"
  /** What came back is not an answer to what was sent, such as a stream to a call. */
  | "BAD_REPLY"
  /** The HTTP status said no, without a JSON-RPC body. */
  | "HTTP_STATUS"
  /** A limit of this end refused what was to be sent or what came. */
  | "TOO_LARGE"
  /** The wire cannot do this, such as calling back over plain HTTP. */
  | "UNSUPPORTED";

/**
 * A failure of this end or of the wire; it never travelled as a JSON-RPC error.
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
  /** The HTTP status, where there was one. */
  readonly status: number | undefined;

  constructor(
    code: WireErrorCode,
    message: string,
    options: { cause?: unknown; status?: number } = {},
  ) {
    super(message, options);
    this.name = "WireError";
    this.code = code;
    this.status = options.status;
  }
}

type ReadyError = ErrorObject & RpcErrorOptions;

/** Marked pure where it is called, so that bundles of clients leave out the errors that only servers send. */
function ready(
  name: keyof typeof ErrorCode,
  message: string,
  options?: RpcErrorOptions & { readonly data?: unknown },
): ReadyError {
  return { code: ErrorCode[name], message, ...options };
}

/** Ready-made errors; as values they cost no stack trace. */
export const parseError: ErrorObject = /* @__PURE__ */ ready("ParseError", "Parse error");
export const internalError: ErrorObject = /* @__PURE__ */ ready("InternalError", "Internal error");
export const methodNotFound: ErrorObject = /* @__PURE__ */ ready(
  "MethodNotFound",
  "Method not found",
);
export const requestTimeout: ReadyError = /* @__PURE__ */ ready(
  "RequestTimeout",
  "Request timeout",
);
export const requestCancelled: ErrorObject = /* @__PURE__ */ ready(
  "RequestCancelled",
  "Request cancelled",
);
export const serverBusy: ReadyError = /* @__PURE__ */ ready("ServerBusy", "Server busy", {
  status: 503,
  headers: { "retry-after": "1" },
});
export const shuttingDown: ReadyError = /* @__PURE__ */ ready(
  "ShuttingDown",
  "Server is shutting down",
  { status: 503, headers: { "retry-after": "1" } },
);

/** The same for a call that was running; without data, a call did not run. */
export const cutShort: ReadyError = /* @__PURE__ */ ready(
  "ShuttingDown",
  "Server is shutting down",
  {
    status: 503,
    headers: { "retry-after": "1" },
    data: "the call was ended before it was done",
  },
);

/** Whether an error is one of these to the last word, since with other servers its code may mean anything. */
export function isExactly(error: unknown, { code, message, data }: ErrorObject): boolean {
  const said = (error ?? {}) as Partial<ErrorObject>;
  return said.code === code && said.message === message && said.data === data;
}

export function invalidRequest(sentence: string): ErrorObject {
  return { code: ErrorCode.InvalidRequest, message: "Invalid Request", data: sentence };
}
