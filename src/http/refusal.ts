import type { RpcErrorOptions } from "../protocol/errors.ts";
import type { ErrorObject } from "../protocol/message.ts";
import type { Origin } from "../protocol/origin.ts";
import { errorText } from "../protocol/reply-text.ts";
import {
  internalError,
  invalidRequest,
  requestTimeout,
  serverBusy,
  shuttingDown,
} from "../protocol/standard-errors.ts";

/** The response to a request that reaches no method: a status, and a JSON-RPC error without an id as the body. */
export interface Refusal {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function refusal(
  status: number,
  error: ErrorObject,
  headers?: Readonly<Record<string, string>>,
): Refusal {
  const body = errorText("2.0", "null", error);
  return headers === undefined ? { status, body } : { status, body, headers };
}

export const badRequest: Refusal = refusal(400, invalidRequest("this is not a valid HTTP request"));
export const malformedParts: Refusal = refusal(
  400,
  invalidRequest("the body must be multipart/form-data, with a JSON-RPC message as its first part"),
  { connection: "close" },
);
export const notFound: Refusal = refusal(
  404,
  invalidRequest({ ran: false, reason: "not-found", details: "nothing is served at this path" }),
);
export const streamGone: Refusal = refusal(404, invalidRequest("this stream no longer exists"));
export const methodNotAllowed: Refusal = refusal(
  405,
  invalidRequest("calls must be sent with the HTTP method POST"),
  { allow: "POST, OPTIONS" },
);
export const notAStream: Refusal = refusal(
  405,
  invalidRequest("GET starts streams only; send other calls with POST"),
  { allow: "POST, OPTIONS" },
);
/** For a request whose body other code has read, without leaving what it read. */
export const bodyConsumed: Refusal = refusal(500, {
  ...internalError,
  data: "other code read the body of the request before; mount this handler before body parsers",
});
export const bodyTimeout: Refusal = refusal(408, requestTimeout);
export const unsupportedType: Refusal = refusal(
  415,
  invalidRequest("the Content-Type must be application/json, in UTF-8"),
);
/** For a body with files that the page of another site could have sent. */
export const unmarkedUpload: Refusal = refusal(
  415,
  invalidRequest(
    "a multipart request needs the header Rpc-Attachments, because pages of other sites cannot send it",
  ),
);
/** For a body that is compressed in a way other than these. */
export function unsupportedEncoding(codings: readonly string[]): Refusal {
  const accepted = ["identity", ...codings].join(", ");
  const sentence = `the Content-Encoding must be one of: ${accepted}`;
  return refusal(415, invalidRequest(sentence), { "accept-encoding": accepted });
}
export const upgradeRequired: Refusal = refusal(
  426,
  invalidRequest("this server does not accept WebSocket connections"),
);
export const headersTooLarge: Refusal = refusal(431, invalidRequest("the headers are too long"));
export const busy: Refusal = refusal(503, serverBusy, serverBusy.headers);
/** For a request whose body still arrives, if the connections of the server buffer too much. */
export const bufferedTooMuch: Refusal = refusal(503, serverBusy, {
  ...serverBusy.headers,
  connection: "close",
});
export const unavailable: Refusal = refusal(503, shuttingDown, shuttingDown.headers);

/** The sentence is the message, so that browsers and clients show it. */
export function forbidden(sentence: string): Refusal {
  return refusal(403, { ...invalidRequest(sentence), message: sentence });
}

/** The status of a reply is 200 unless its error has another, such as 401 or 429. */
export function statusOf(error: ErrorObject | undefined): number {
  const status = (error as RpcErrorOptions | undefined)?.status;
  return status !== undefined && Number.isInteger(status) && status >= 400 && status <= 599
    ? status
    : 200;
}

/** The headers of a reply: those that middleware added, and those of its error. */
export function replyHeaders(
  { lastError, replyHeaders }: Origin,
  status: number,
): Readonly<Record<string, string>> | undefined {
  const own = status === 200 ? undefined : (lastError as RpcErrorOptions | undefined)?.headers;
  return own === undefined || replyHeaders === undefined
    ? (own ?? replyHeaders)
    : { ...replyHeaders, ...own };
}

/** The response to a client that the service does not admit. */
export function refusedBy(error: ErrorObject & RpcErrorOptions): Refusal {
  return refusal(error.status ?? 403, error, error.headers);
}
