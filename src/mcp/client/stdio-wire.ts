import { reconnecting } from "../../connection/reconnect.ts";
import { spawnConnection } from "../../transports/stdio/connect.ts";
import type { StdioLinkOptions } from "../../transports/stdio/link.ts";
import { greeting } from "./channel-wire.ts";
import type { McpWire } from "./wire.ts";

export interface McpStdioLinkOptions
  extends Omit<StdioLinkOptions, "framing" | "service" | "notices" | "log"> {}

/**
 * A server as a child process: `mcpStdioLink("node", ["server.js"])`. It is started with the first
 * request, without a shell, and ends with the client. One that dies is started again.
 * @example
 * ```ts
 * import { mcpClient, mcpStdioLink } from "callwire/mcp/client";
 *
 * await using client = mcpClient(mcpStdioLink("node", ["server.js"]), {
 *   name: "my-host",
 *   version: "1.0.0",
 * });
 * console.log(await client.callTool("math_add", { a: 2, b: 3 }));
 * ```
 */
export function mcpStdioLink(
  command: string,
  args: readonly string[] = [],
  options: McpStdioLinkOptions = {},
): McpWire {
  return {
    hasHeaders: false,
    open: ({ service, log, notices, greet }) =>
      reconnecting(
        () => spawnConnection(command, args, { ...options, service, log, notices }),
        greeting(options.reconnect, greet),
      ),
  };
}
