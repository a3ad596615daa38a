import { memoryChannels } from "../../connection/memory-channel.ts";
import type { McpServer } from "../server/mcp-server.ts";
import { serveMcpChannel } from "../server/serve-channel.ts";
import { mcpChannelLink } from "./channel-wire.ts";
import type { McpWire } from "./wire.ts";

/**
 * A server in the same process, without a port or a child process: for tests of tools, and for hosts with
 * tools of their own.
 * @example
 * ```ts
 * import { mcpServer } from "callwire/mcp";
 * import { mcpClient, mcpMemoryLink } from "callwire/mcp/client";
 *
 * const agents = mcpServer({ add: (a: number, b: number) => a + b }, { name: "math", version: "1.0.0" });
 * await using client = mcpClient(mcpMemoryLink(agents), { name: "test", version: "1.0.0" });
 * console.log(await client.callTool("add", { a: 2, b: 3 }));
 * ```
 */
export function mcpMemoryLink(server: McpServer): McpWire {
  return mcpChannelLink(() => {
    const [near, far] = memoryChannels();
    serveMcpChannel(server, far);
    return near;
  });
}
