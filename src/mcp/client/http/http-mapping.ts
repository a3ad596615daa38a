import type { HeaderRecord } from "../../../framing/http-exchange.ts";
import { RemoteError, WireError } from "../../../protocol/errors.ts";
import type { Request } from "../../../protocol/message.ts";
import { replyOf } from "../../../protocol/pair.ts";
import { isEnvelope } from "../../../protocol/parse.ts";
import { parsed } from "../../../protocol/parsed.ts";
import { headerValue, namedBy } from "../../header-values.ts";
import { MetaKey } from "../../meta-keys.ts";
import { isHandshake } from "../handshake.ts";

/** The session of the legacy era, as the server named it. */
export interface HttpSession {
  readonly id: string | undefined;
  readonly revision: string;
}

/** The revision that a request itself names; only those of the modern era do. */
export function revisionIn(request: Request): string | undefined {
  const { _meta } = (request.params ?? {}) as { _meta?: Readonly<Record<string, unknown>> };
  const revision = _meta?.[MetaKey.ProtocolVersion];
  return typeof revision === "string" ? revision : undefined;
}

/** What a request says in headers beside its body. */
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

/** The text of a 401 or 403 that answers the request; throws where nobody but the door of the server spoke. */
export function refusedAnswer(status: 401 | 403, text: string, request: Request): string {
  const message = parsed(text);
  const error = isEnvelope(message) ? replyOf(message)?.error : undefined;
  if (!isEnvelope(message) || error === undefined) throw refused(status);
  const isAnswer = request.id !== undefined && message.id === request.id;
  // Whoever is not let in has met no method, whatever id the refusal bears.
  if (!isAnswer || isHandshake(request.method)) throw refused(status, RemoteError.from(error));
  return text;
}

/** `cause` is what the server said, where it said something. */
function refused(status: number, cause?: Error): WireError {
  const why = status === 401 ? "wants authorization" : "forbids this";
  const sentence = `the server ${why} (status ${status})`;
  return new WireError("HTTP_STATUS", sentence, { status, ...(cause !== undefined && { cause }) });
}

/** The server forgot the session; the request was not taken, so it may be sent in a new one. */
export function sessionLost(): WireError {
  return new WireError("HTTP_STATUS", "the server does not know the session any more", {
    status: 404,
  });
}

/** The endpoint does not know this transport. */
export function unknownHere(status: number): WireError {
  return new WireError("HTTP_STATUS", `no MCP server here (status ${status})`, { status });
}
