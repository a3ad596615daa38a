import {
  type ServeStdioOptions,
  type StdioServer,
  serveStdio,
} from "../../transports/stdio/serve.ts";
import { mcpNotices } from "../notices.ts";
import type { McpServer } from "./mcp-server.ts";

/**
 * Serves the agent host that started this process: one message per line, nothing else on stdout.
 * @example
 * ```ts
 * import { mcpServer, serveMcpStdio } from "callwire/mcp";
 *
 * const agents = mcpServer(methods, { name: "calculator", version: "1.0.0" });
 * await serveMcpStdio(agents).closed;
 * ```
 */
export function serveMcpStdio(
  server: McpServer,
  options: Omit<ServeStdioOptions, "framing" | "notices"> = {},
): StdioServer {
  return serveStdio(server, { ...options, framing: "newline", notices: mcpNotices });
}
