import { Agent, fetch } from "undici";
import type { Fetch } from "./http/carrier.ts";
import { StreamableHttp } from "./http/streamable-http.ts";
import { mcpHttpLink as fetchWire, type McpHttpLinkOptions } from "./http-wire.ts";
import type { McpWire } from "./wire.ts";

/** A server behind a URL, over Streamable HTTP: `mcpHttpLink("https://example.com/mcp")`. */
export function mcpHttpLink(url: string | URL, options: McpHttpLinkOptions = {}): McpWire {
  if (options.fetch !== undefined) return fetchWire(url, options);
  return {
    hasHeaders: true,
    open(end) {
      // Node's own fetch gives up after five minutes of silence; how long to wait is the caller's business.
      const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
      const send = (to: string, init: RequestInit) =>
        fetch(to, { ...(init as Parameters<typeof fetch>[1]), dispatcher });
      const own = { ...options, fetch: send as unknown as Fetch };
      return new StreamableHttp(url, own, end, () => dispatcher.destroy());
    },
  };
}
