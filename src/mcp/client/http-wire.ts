import { StreamableHttp, type StreamableHttpOptions } from "./http/streamable-http.ts";
import type { McpWire } from "./wire.ts";

export interface McpHttpLinkOptions extends StreamableHttpOptions {}

/** A server behind a URL, over Streamable HTTP: `mcpHttpLink("https://example.com/mcp")`. */
export function mcpHttpLink(url: string | URL, options: McpHttpLinkOptions = {}): McpWire {
  return { hasHeaders: true, open: (end) => new StreamableHttp(url, options, end) };
}
