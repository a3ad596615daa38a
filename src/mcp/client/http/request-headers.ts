import type { HeaderRecord } from "../../../http/client-exchange.ts";
import type { Request } from "../../../protocol/message.ts";
import { headerValue, namedBy } from "../../header-values.ts";
import { MetaKey } from "../../meta-keys.ts";

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
