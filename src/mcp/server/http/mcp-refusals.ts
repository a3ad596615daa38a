import type { Refusal } from "../../../http/refusal.ts";
import { ErrorCode, type RpcErrorOptions } from "../../../protocol/errors.ts";
import type { ErrorObject } from "../../../protocol/message.ts";
import { errorText } from "../../../protocol/reply-text.ts";
import { internalError, parseError } from "../../../protocol/standard-errors.ts";
import { McpErrorCode } from "../../errors.ts";

/** The response to a request that reaches no method; MCP leaves out an id that it does not know. */
function refusal(
  status: number,
  code: number,
  message: string,
  headers?: Readonly<Record<string, string>>,
): Refusal {
  const body = errorText("2.0", undefined, { code, message });
  return headers === undefined ? { status, body } : { status, body, headers };
}

const { BadRequest, SessionNotFound } = McpErrorCode;

export const unreadable = refusal(400, parseError.code, parseError.message);
export const notAMessage = refusal(400, ErrorCode.InvalidRequest, "the body is not a message");
export const noBatch = refusal(400, ErrorCode.InvalidRequest, "batches are not supported here");
export const sessionMissing = refusal(400, BadRequest, "the header Mcp-Session-Id is missing");
export const badRevision = refusal(
  400,
  BadRequest,
  "this MCP-Protocol-Version is not supported here",
);
export const alreadyInitialized = refusal(
  400,
  ErrorCode.InvalidRequest,
  "the session is already initialized",
);
export const streamGone = refusal(400, BadRequest, "this stream no longer exists");
export const sessionGone = refusal(404, SessionNotFound, "Session not found");
export const unacceptable = refusal(
  406,
  BadRequest,
  "the Accept header of a GET must list text/event-stream",
);
export const alreadyListening = refusal(409, BadRequest, "the session already has a stream");
export const wrongType = refusal(415, BadRequest, "the Content-Type must be application/json");
export const unavailable = refusal(503, internalError.code, "tokens cannot be verified now", {
  "retry-after": "5",
});
export const storeFailed = refusal(503, internalError.code, "sessions cannot be read now", {
  "retry-after": "5",
});
export const failed = refusal(500, internalError.code, internalError.message);
export const tooManySessions = refusal(503, BadRequest, "there are too many sessions", {
  "retry-after": "1",
});
export const forbidden = (sentence: string): Refusal => refusal(403, BadRequest, sentence);

export function notAllowed(allow: string): Refusal {
  return refusal(405, BadRequest, "this HTTP method is not supported here", { allow });
}

export function tooLarge(maxBytes: number): Refusal {
  const sentence = `a message must have at most ${maxBytes} bytes`;
  return refusal(413, ErrorCode.InvalidRequest, sentence, { connection: "close" });
}

/** The response to a client that middleware does not admit. */
export function notAdmitted(error: ErrorObject & RpcErrorOptions): Refusal {
  const { status = 403, headers = {} } = error;
  return { status, body: errorText("2.0", undefined, error), headers };
}

/** A refusal that replies to a request, with its id. */
export function answered(status: number, id: string | undefined, error: ErrorObject): Refusal {
  return { status, body: errorText("2.0", id, error) };
}
