import { ErrorCode, RpcError, type RpcErrorOptions } from "./errors.ts";
import type { CallFailure, FailureData, LimitExceeded } from "./failure-data.ts";
import type { ErrorObject } from "./message.ts";

type ReadyError = ErrorObject & RpcErrorOptions;

/** Marked pure where it is called, so that bundles leave out the errors that they do not send. */
function ready(
  name: keyof typeof ErrorCode,
  message: string,
  data?: CallFailure,
  options?: RpcErrorOptions,
): ReadyError {
  const error = { code: ErrorCode[name], message, ...options };
  return data === undefined ? error : { ...error, data };
}

const tryLater = { status: 503, headers: { "retry-after": "1" } };

/** Constant errors; as plain objects they need no stack trace. */
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
/** How the call of a caller that disconnected ends. */
export const connectionLost: ErrorObject = /* @__PURE__ */ ready(
  "RequestCancelled",
  "Connection lost",
);
export const serverBusy: ReadyError = /* @__PURE__ */ ready(
  "ServerBusy",
  "Server busy",
  { ran: false, reason: "busy", retryAfterMs: 1000 },
  tryLater,
);
/** For a call that ran and took too much of something. */
export function busyWith(details: string): ErrorObject {
  return { ...serverBusy, data: { ran: true, reason: "busy", details } };
}
/** For a call whose caller stopped waiting before it could start. */
export const outOfTime: ReadyError = /* @__PURE__ */ ready("RequestTimeout", "Request timeout", {
  ran: false,
  reason: "expired",
});
/** The server is stopping and did not start the call. */
export const shuttingDown: ReadyError = /* @__PURE__ */ ready(
  "ShuttingDown",
  "Server is shutting down",
  { ran: false, reason: "stopping" },
  tryLater,
);
/** The server is stopping and ended the call while it ran. */
export const cutShort: ReadyError = /* @__PURE__ */ ready(
  "ShuttingDown",
  "Server is shutting down",
  { ran: true, reason: "stopping", details: "the server ended the call before it was done" },
  tryLater,
);

export function invalidRequest(data: string | FailureData): ErrorObject {
  return { code: ErrorCode.InvalidRequest, message: "Invalid Request", data };
}

const limited: Readonly<Record<LimitExceeded["limit"], readonly [what: string, unit: string]>> = {
  maxMessageBytes: ["message", "bytes"],
  maxBatch: ["batch", "requests"],
  maxFiles: ["call", "files"],
  maxFileBytes: ["file", "bytes"],
};

/** Rejects a whole payload. The reply has no id, so clients find the call by `limit` and `max`. */
export function limitExceeded(limit: LimitExceeded["limit"], max: number): ErrorObject {
  const [what, unit] = limited[limit];
  return invalidRequest({ limit, max, details: `a ${what} must have at most ${max} ${unit}` });
}

/** The same for a call of a method, whose status over HTTP is 413. */
export function callTooLarge(limit: LimitExceeded["limit"], max: number): RpcError {
  const { code, message, data } = limitExceeded(limit, max);
  return new RpcError(code, message, data, { status: 413 });
}

/** A reply, or an item of a stream, is longer than `maxReplyLength`, or than its wire accepts. */
export function replyTooLarge(max: number, what = "a reply", unit = "characters"): ErrorObject {
  const data = `${what} must not be longer than ${max} ${unit}`;
  return { code: ErrorCode.ReplyTooLarge, message: "Reply too large", data };
}

/** An error to throw. */
export function asError(error: ErrorObject): Error {
  return error instanceof Error ? error : new RpcError(error.code, error.message, error.data);
}

/**
 * The error for params that pass the schema but break another rule; `details` is sent to the caller.
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
