import {
  ErrorCode,
  type RpcErrorOptions,
  requestTimeout,
  serverBusy,
  WireError,
} from "../protocol/errors.ts";
import type { ErrorObject } from "../protocol/message.ts";
import { Undeliverable } from "./relay.ts";

type Failure = ErrorObject & RpcErrorOptions;

/** No target can be called now. */
export const noTarget: Failure = {
  ...failed("nothing behind this gateway can take the call now; it did not run"),
  status: 503,
  headers: { "retry-after": "1" },
};

/** Each connection to a target that callers may have to themselves is taken. */
export const noConnection: Failure = {
  ...serverBusy,
  data: { ran: false, details: "all connections to what is behind this gateway are taken" },
};

/** An upstream of 1.0 would hardly say what is wrong with such params. */
export const inOrderOnly: ErrorObject = {
  code: ErrorCode.InvalidParams,
  message: "Invalid params",
  data: {
    details:
      "this method is reached over JSON-RPC 1.0, which knows params in order only, such as [2,3]",
  },
};

/**
 * What a caller hears when the next hop did not answer. It tells whether the call can have run, and
 * nothing of addresses and insides.
 */
export function upstreamFailure(error: unknown): Failure {
  if (error instanceof Undeliverable) return error.error;
  const code = error instanceof WireError ? error.code : undefined;
  switch (code) {
    case "CONNECTION_FAILED":
      return noTarget;
    case "CONNECTION_LOST":
    case "CLOSED":
      return failed("the connection broke; whether the call ran is unknown");
    case "TIMEOUT":
      return requestTimeout;
    case "TOO_LARGE":
      return failed(
        "the call or its reply is too large to be passed on; whether the call ran is unknown",
      );
    case "HTTP_STATUS":
      return failed("the next hop refused the call");
    case "UNSUPPORTED":
      return failed("the next hop cannot carry this call");
    default:
      return failed("the next hop did not answer properly");
  }
}

function failed(sentence: string): Failure {
  return {
    code: ErrorCode.UpstreamFailed,
    message: "Upstream failed",
    data: sentence,
    status: 502,
  };
}
