import type { RequestHead } from "../../../http/request-head.ts";

/** The headers that MCP adds to those of every HTTP request. */
export class McpHead {
  readonly http: RequestHead;
  readonly accept: string | undefined;
  readonly sessionId: string | undefined;
  readonly protocolVersion: string | undefined;

  constructor(http: RequestHead) {
    this.http = http;
    // A client that says nothing, or takes anything, gets events if there are any.
    this.accept = http.accept === "*/*" ? undefined : http.accept;
    this.sessionId = http.get("mcp-session-id");
    this.protocolVersion = http.get("mcp-protocol-version");
  }
}
