import type { HeaderRecord } from "../../../http/client-exchange.ts";
import { isEnvelope } from "../../../protocol/envelope.ts";
import { RemoteError, WireError } from "../../../protocol/errors.ts";
import { parseJson } from "../../../protocol/json-text.ts";
import type { Request } from "../../../protocol/message.ts";
import { replyOf } from "../../../protocol/pair.ts";
import { headerValue, namedBy } from "../../header-values.ts";
import { MetaKey } from "../../meta-keys.ts";
import { isHandshake, lostStatuses } from "../handshake.ts";

/** A legacy session. */
export interface HttpSession {
  readonly id: string | undefined;
  readonly revision: string;
}

/** The revision in the envelope of a request; undefined for legacy requests. */
export function revisionIn(request: Request): string | undefined {
  const { _meta } = (request.params ?? {}) as { _meta?: Readonly<Record<string, unknown>> };
  const revision = _meta?.[MetaKey.ProtocolVersion];
  return typeof revision === "string" ? revision : undefined;
}

/** The headers that MCP requires for a request. */
export function headersFor(request: Request, session: HttpSession | undefined): HeaderRecord {
  const revision = revisionIn(request);
  if (revision === undefined) return sessionHeaders(session);
  const key = namedBy.get(request.method);
  const params = request.params as Readonly<Record<string, unknown>>;
  const name = key === undefined ? undefined : params[key];
  return {
    "mcp-protocol-version": revision,
    "mcp-method": request.method,
    ...(typeof name === "string" && { "mcp-name": headerValue(name) }),
  };
}

export function sessionHeaders(session: HttpSession | undefined): HeaderRecord {
  if (session === undefined) return {};
  return {
    "mcp-protocol-version": session.revision,
    ...(session.id !== undefined && { "mcp-session-id": session.id }),
  };
}

/** The body of a 401 or 403 if it is a reply to the request; otherwise throws. */
export function refusedAnswer(status: 401 | 403, text: string, request: Request): string {
  const message = parseJson(text);
  const error = isEnvelope(message) ? replyOf(message)?.error : undefined;
  if (!isEnvelope(message) || error === undefined) throw refused(status);
  const isAnswer = request.id !== undefined && message.id === request.id;
  // A refused handshake never reached a method, whatever id the refusal has.
  if (!isAnswer || isHandshake(request.method)) throw refused(status, RemoteError.from(error));
  return text;
}

/** `cause` is the error that the server sent, if any. */
function refused(status: number, cause?: Error): WireError {
  const why = status === 401 ? "requires authorization" : "forbids the request";
  const sentence = `the server ${why} (status ${status})`;
  return new WireError("HTTP_STATUS", sentence, { status, ...(cause !== undefined && { cause }) });
}

/** The server forgot the session and did not accept the request, so it may be sent in a new one. */
export class SessionLost extends WireError {
  /** `cause` is the error that the server sent, if any. */
  constructor(status: number, cause?: Error) {
    const sentence = "the server no longer knows the session";
    super("HTTP_STATUS", sentence, { status, ...(cause !== undefined && { cause }) });
  }
}

/** Codes with which servers refuse a session; the SDKs answer an unknown one with 400 and -32000. */
const sessionCodes: readonly number[] = [-32000, -32001];

/** The loss of the session, if that is why a request that named one was refused. */
export function sessionLossIn(
  status: number,
  text: string,
  request: Request,
): SessionLost | undefined {
  if (!lostStatuses.includes(status)) return undefined;
  const message = parseJson(text);
  const error = isEnvelope(message) ? replyOf(message)?.error : undefined;
  const isAnswer = isEnvelope(message) && request.id !== undefined && message.id === request.id;
  // A 400 may also be about the message itself, and is then a reply to it.
  const isOther =
    status === 400 && isAnswer && error !== undefined && !sessionCodes.includes(error.code);
  return isOther ? undefined : new SessionLost(status, error && RemoteError.from(error));
}

/** The endpoint does not support this transport. */
export function notMcp(status: number): WireError {
  return new WireError("HTTP_STATUS", `no MCP server at this URL (status ${status})`, { status });
}
