import { ErrorCode, RpcError, type RpcErrorOptions, WireError } from "../protocol/errors.ts";
import { type CallFailure, callFailureIn } from "../protocol/failure-data.ts";
import { type ErrorObject, failure, type Reply } from "../protocol/message.ts";
import { outcomeOf } from "../protocol/retry-rule.ts";
import { requestTimeout, serverBusy } from "../protocol/standard-errors.ts";

type Failure = ErrorObject & RpcErrorOptions;

/** No target is available. */
export const noTarget: Failure = {
  ...failed(false, "unavailable", "no server behind this gateway can take the call now"),
  status: 503,
  headers: { "retry-after": "1" },
};

/** All connections that callers may have to themselves are in use. */
export const noConnection: Failure = {
  ...serverBusy,
  data: {
    ...(serverBusy.data as CallFailure),
    details: "all connections from this gateway to the server are in use",
  },
};

/** The call grew beyond `maxMessageBytes` when the gateway rewrote it. */
export const tooLong: Failure = failed(false, "too-large", "the call is too large to be forwarded");

/** An upstream of JSON-RPC 1.0 would not explain what is wrong with such params. */
export const inOrderOnly: ErrorObject = {
  code: ErrorCode.InvalidParams,
  message: "Invalid params",
  data: {
    details:
      "this method is called over JSON-RPC 1.0, which takes params by position only, such as [2,3]",
  },
};

/** The error for a caller whose call the upstream did not answer; it does not reveal addresses. */
export function upstreamFailure(error: unknown): Failure {
  if (error instanceof Settled) return error.error;
  const code = error instanceof WireError ? error.code : undefined;
  switch (code) {
    case "CONNECTION_FAILED":
      return noTarget;
    case "CONNECTION_LOST":
    case "CLOSED":
      return failed("unknown", "connection-lost", "the connection to the server broke");
    case "TIMEOUT":
      return requestTimeout;
    case "TOO_LARGE":
      return failed("unknown", "too-large", "the call or its reply is too large to be forwarded");
    case "HTTP_STATUS":
      return outcomeOf(error) === "final"
        ? failed("unknown", "http-status", "the server rejected the call with an HTTP status")
        : failed("unknown", "unavailable", "the server is not available");
    case "UNSUPPORTED":
      return failed(false, "unsupported", "the transport to the server cannot carry this call");
    default:
      return failed("unknown", "bad-reply", "the server did not send a valid reply");
  }
}

function failed(ran: CallFailure["ran"], reason: CallFailure["reason"], details: string): Failure {
  const data: CallFailure = { ran, reason, details };
  return { code: ErrorCode.UpstreamFailed, message: "Upstream failed", data, status: 502 };
}

/** Ends a call with this error; no other target may be tried. */
export class Settled extends WireError {
  readonly error: ErrorObject;

  constructor(error: ErrorObject) {
    super("ABORTED", error.message);
    this.error = error;
  }
}

/** A stream that failed after its first item; another target would send the items again. */
export class BrokenStream extends WireError {
  constructor(error: WireError) {
    // It ran, even if the last failure was a failure to reconnect.
    const code = error.code === "CONNECTION_FAILED" ? "CONNECTION_LOST" : error.code;
    super(code, error.message, { cause: error });
  }
}

/**
 * The reply of a server. A wrong path (HTTP 404 or 405) counts as a failure to connect, because no
 * call to it can run.
 */
export async function fromServer(sent: Promise<Reply | undefined>): Promise<Reply | undefined> {
  const reply = await sent.catch((error: unknown) => {
    // A reply without an id is thrown if it can only belong to this call.
    if (error instanceof RpcError) return answered(error);
    throw isRefusedPath(error) ? nowhere(error.status ?? 404, error) : error;
  });
  if (reply !== undefined && isNotFound(reply)) throw nowhere(404);
  return reply;
}

/** The error without its HTTP status, which the upstream must not choose for the gateway's reply. */
function answered({ code, message, data }: RpcError): Reply {
  return failure({ code, message, data });
}

function isRefusedPath(error: unknown): error is WireError {
  if (!(error instanceof WireError) || error.code !== "HTTP_STATUS") return false;
  return error.status === 404 || error.status === 405;
}

function isNotFound({ error }: Reply): boolean {
  return error?.code === ErrorCode.InvalidRequest && callFailureIn(error)?.reason === "not-found";
}

function nowhere(status: number, cause?: unknown): WireError {
  const sentence = `there is no JSON-RPC endpoint at this path (HTTP ${status})`;
  return new WireError("CONNECTION_FAILED", sentence, { cause, status });
}
