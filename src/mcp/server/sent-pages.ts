import { isRpcError } from "../../protocol/errors.ts";
import { McpErrorCode } from "../errors.ts";
import { isRecord } from "../record.ts";
import type { Session } from "./session.ts";

/** The oldest is forgotten first; a client that hears nothing of it tries again after a while. */
const mostPages = 100;

/** Keeps to which page a client was told to send its user: no other hears that the visit is over. */
export function rememberPage(session: Session, elicitationId: string): void {
  const { pages = new Set() } = session;
  pages.add(elicitationId);
  const [oldest] = pages;
  if (pages.size > mostPages && oldest !== undefined) pages.delete(oldest);
  session.pages = pages;
}

/** The same for those of an error that asks for visits before anything else. */
export function rememberPagesOf(session: Session, error: unknown): void {
  if (!isRpcError(error, McpErrorCode.UrlElicitationRequired)) return;
  const { elicitations } = isRecord(error.data) ? error.data : {};
  for (const each of Array.isArray(elicitations) ? elicitations : []) {
    const { elicitationId } = isRecord(each) ? each : {};
    if (typeof elicitationId === "string") rememberPage(session, elicitationId);
  }
}
