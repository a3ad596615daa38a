import { Agent, request } from "undici";
import type { Send } from "./http/carrier.ts";
import { StreamableHttp } from "./http/streamable-http.ts";
import { inFlightOf } from "./http/turns.ts";
import { mcpHttpLink as fetchWire, type McpHttpLinkOptions } from "./http-wire.ts";
import type { McpWire } from "./wire.ts";

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
  if (options.fetch !== undefined) return fetchWire(url, options);
  return {
    hasHeaders: true,
    open(end) {
      // Silence ends nothing here: how long to wait is the caller's business.
      const patient = { headersTimeout: 0, bodyTimeout: 0 };
      // A connection is free only a moment after its reply, by when the next call is there. One more is for the
      // stream of the server, which has to arrive before the calls that come after it.
      const calls = new Agent({ ...patient, connections: inFlightOf(options) + 1 });
      const others = new Agent(patient);
      const release = () => Promise.all([calls.destroy(), others.destroy()]);
      return new StreamableHttp(url, options, end, { send: sendWith(calls, others), release });
    },
  };
}

/** Sends with undici itself, which takes a fraction of the time of `fetch`. */
function sendWith(calls: Agent, others: Agent): Send {
  return async (url, { method, headers, body, signal, beside }) => {
    const answer = await request(url, {
      dispatcher: beside === true ? others : calls,
      method,
      headers,
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal }),
    });
    return {
      status: answer.statusCode,
      header(name) {
        const value = answer.headers[name];
        return Array.isArray(value) ? value.join(", ") : value;
      },
      chunks: answer.body,
      async discard() {
        await answer.body.dump().catch(() => {});
      },
    };
  };
}
