import type { RequestHead } from "../../../http/http-message.ts";
import { membersOf } from "../../../protocol/envelope.ts";
import { isRecord } from "../../../protocol/record.ts";
import { headerMismatch, type McpError } from "../../errors.ts";
import { namedBy, paramAt, readHeaderValue } from "../../header-values.ts";
import { MetaKey } from "../../meta-keys.ts";
import { isModern } from "../../revisions.ts";
import type { Catalog } from "../catalog.ts";

/** The headers that MCP adds to those of every HTTP request. */
export class McpHead {
  readonly http: RequestHead;
  readonly accept: string | undefined;
  readonly sessionId: string | undefined;
  readonly protocolVersion: string | undefined;

  constructor(http: RequestHead) {
    this.http = http;
    // A client without an Accept header, or that accepts anything, gets events if there are any.
    this.accept = http.accept === "*/*" ? undefined : http.accept;
    this.sessionId = http.get("mcp-session-id");
    this.protocolVersion = http.get("mcp-protocol-version");
  }
}

interface ModernMessage {
  readonly method?: unknown;
  readonly params?: unknown;
  readonly id?: unknown;
}

/** Whether a request belongs to the modern era, by its body or by its headers. */
export function isModernRequest(message: ModernMessage, head: McpHead): boolean {
  if (isModern(head.protocolVersion)) return true;
  const { _meta } = membersOf(message.params);
  return isRecord(_meta) && _meta[MetaKey.ProtocolVersion] !== undefined;
}

/**
 * Checks that the headers repeat the body, since proxies route by them. Faults of the body itself are
 * left to the code that handles it.
 */
export function headerFault(
  message: ModernMessage,
  head: McpHead,
  catalog: Catalog,
): McpError | undefined {
  const { method, params } = message;
  const { _meta } = membersOf(params);
  const envelope = isRecord(_meta) ? _meta : {};
  const version = envelope[MetaKey.ProtocolVersion];
  if (typeof version !== "string") return undefined;
  if (head.protocolVersion?.trim() !== version) {
    return headerMismatch("MCP-Protocol-Version does not match the body");
  }
  if (!isModern(version) || !isRecord(envelope[MetaKey.ClientCapabilities])) return undefined;
  const sentMethod = head.http.get("mcp-method");
  if (message.id === undefined && sentMethod === undefined) return undefined;
  if (sentMethod?.trim() !== method) return headerMismatch("Mcp-Method does not match the body");
  const member = namedBy.get(method as string);
  if (member === undefined || !isRecord(params)) return undefined;
  const { [member]: named } = params;
  if (typeof named !== "string") return undefined;
  const sentName = head.http.get("mcp-name");
  if (sentName === undefined || readHeaderValue(sentName) !== named) {
    return headerMismatch("Mcp-Name does not match the body");
  }
  return method === "tools/call" ? paramFault(named, params.arguments, catalog, head) : undefined;
}

function paramFault(
  tool: string,
  args: unknown,
  catalog: Catalog,
  { http }: McpHead,
): McpError | undefined {
  for (const { header, path } of catalog.tools.get(tool)?.headers ?? []) {
    const sent = http.get(header);
    const value = paramAt(args, path);
    if (value === undefined ? sent !== undefined : !says(sent, value)) {
      return headerMismatch(`${header} does not match the body`);
    }
  }
  return undefined;
}

function says(sent: string | undefined, value: string | number | boolean): boolean {
  const read = sent === undefined ? undefined : readHeaderValue(sent);
  if (read === undefined) return false;
  return typeof value === "number" ? read !== "" && Number(read) === value : read === String(value);
}
