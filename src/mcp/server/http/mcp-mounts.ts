import { NodeMessage } from "../../../http/node-message.ts";
import type { NodeHandler } from "../../../transports/http/node-handler.ts";
import type { McpServer } from "../mcp-server.ts";
import { metadataPaths, resourceMetadata } from "./authorization.ts";
import { httpSseHandler } from "./http-sse.ts";
import { McpEndpoint, type McpHttpOptions } from "./mcp-endpoint.ts";

export interface McpMountOptions extends McpHttpOptions {
  /** The path of the endpoint. @default "/mcp" */
  readonly path?: string;
  /** The path of the transport of revision 2024-11-05, such as "/sse". @default not served */
  readonly httpSsePath?: string;
}

/**
 * What `serveHttp` mounts: MCP at its path, and the metadata of its authorization.
 * `serveHttp(server, { mounts: mcpMounts(mcp) })`
 * @example
 * ```ts
 * import { serveHttp } from "callwire/http/node";
 * import { mcpMounts, mcpServer } from "callwire/mcp";
 *
 * const agents = mcpServer(server, { name: "calculator", version: "1.0.0" });
 * await serveHttp(server, { port: 8000, mounts: mcpMounts(agents) }); // /rpc and /mcp
 * ```
 */
export function mcpMounts(
  server: McpServer,
  options: McpMountOptions = {},
): Readonly<Record<string, NodeHandler>> {
  const { path = "/mcp", httpSsePath, authorization } = options;
  if (httpSsePath === path)
    throw new TypeError(`path and httpSsePath must differ, but both are ${path}`);
  const mounts: Record<string, NodeHandler> = { [path]: handlerOf(server, options, false) };
  if (httpSsePath !== undefined) mounts[httpSsePath] = httpSseHandler(server, options, httpSsePath);
  if (authorization !== undefined) {
    const metadata = JSON.stringify(resourceMetadata(authorization));
    const answer: NodeHandler = (_, response) => {
      response.writeHead(200, {
        "content-type": "application/json",
        "access-control-allow-origin": "*",
      });
      response.end(metadata);
    };
    for (const each of metadataPaths(authorization.resource)) mounts[each] = answer;
  }
  return mounts;
}

/**
 * MCP for any server on `node:http`, such as Express. It checks Host and Origin itself: `hosts`
 * names the server if it is not local.
 * @example
 * ```ts
 * import { mcpHandler, mcpServer } from "callwire/mcp";
 * import express from "express";
 *
 * const agents = mcpServer(methods, { name: "calculator", version: "1.0.0" });
 * const app = express();
 * app.use("/mcp", mcpHandler(agents, { hosts: ["mcp.example.com"] }));
 * app.listen(3000, "127.0.0.1");
 * ```
 */
export function mcpHandler(server: McpServer, options: McpHttpOptions = {}): NodeHandler {
  return handlerOf(server, options, true);
}

function handlerOf(server: McpServer, options: McpHttpOptions, guards: boolean): NodeHandler {
  const endpoint = new McpEndpoint(server, options, guards);
  const handle: NodeHandler = (request, response) =>
    endpoint.handle(new NodeMessage(request, response, endpoint.limits));
  return Object.assign(handle, { idle: () => endpoint.idle() });
}
