import type { McpWire } from "../wire.ts";
import { StreamableHttp, type StreamableHttpOptions } from "./streamable-http.ts";

export interface McpHttpLinkOptions extends StreamableHttpOptions {}

/**
 * A server behind a URL, over Streamable HTTP: `mcpHttpLink("https://example.com/mcp")`.
 * @example
 * ```ts
 * import { mcpClient, mcpHttpLink } from "callwire/mcp/client";
 *
 * const link = mcpHttpLink("https://example.com/mcp", {
 *   headers: { authorization: "Bearer d2hhdCBhIHRva2Vu" },
 * });
 * const client = mcpClient(link, { name: "my-host", version: "1.0.0" });
 * console.log(await client.callTool("math_add", { a: 2, b: 3 }));
 * ```
 */
export function mcpHttpLink(url: string | URL, options: McpHttpLinkOptions = {}): McpWire {
  return { hasHeaders: true, open: (end) => new StreamableHttp(url, options, end) };
}
