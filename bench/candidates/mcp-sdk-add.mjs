import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

/** The same tool with the official SDK. */
export function sdkServer() {
  const server = new McpServer({ name: "bench", version: "1" });
  const inputSchema = { a: z.number(), b: z.number() };
  server.registerTool("add", { description: "Add", inputSchema }, ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  return server;
}
