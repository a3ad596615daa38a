import { FetchMessage } from "../../../http/fetch-message.ts";
import type { FetchHandler, FetchHandlerOptions } from "../../../transports/http/fetch-handler.ts";
import type { McpServer } from "../mcp-server.ts";
import { metadataPaths, resourceMetadata } from "./authorization.ts";
import { McpEndpoint, type McpHttpOptions } from "./mcp-endpoint.ts";

export interface McpFetchOptions
  extends McpHttpOptions,
    Pick<FetchHandlerOptions, "remoteAddress"> {}

/**
 * MCP wherever servers are functions from `Request` to `Response`: Workers, Hono, Next.js, Deno and Bun. It
 * checks Host and Origin itself: `hosts` names the server if it is not local. With `authorization` it also
 * answers requests for the metadata of the resource, if the runtime routes them to it.
 * @example
 * ```ts
 * import { mcpFetchHandler, mcpServer } from "callwire/mcp";
 *
 * const agents = mcpServer(methods, { name: "calculator", version: "1.0.0" });
 * // The export of a Worker; Deno.serve, Bun.serve and Hono take the handler too.
 * export default { fetch: mcpFetchHandler(agents, { hosts: ["mcp.example.com"] }) };
 * ```
 */
export function mcpFetchHandler(server: McpServer, options: McpFetchOptions = {}): FetchHandler {
  const endpoint = new McpEndpoint(server, options, true);
  const { authorization, remoteAddress } = options;
  const described = authorization && {
    paths: metadataPaths(authorization.resource),
    body: resourceMetadata(authorization),
  };
  return (request, ...rest) => {
    if (described?.paths.includes(new URL(request.url).pathname)) {
      const headers = { "access-control-allow-origin": "*" };
      return Promise.resolve(Response.json(described.body, { headers }));
    }
    const address = remoteAddress && (() => remoteAddress(request, ...rest));
    return new Promise((resolve, reject) => {
      endpoint.handle(new FetchMessage(request, endpoint.limits, { resolve, reject }, address));
    });
  };
}
