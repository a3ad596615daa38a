import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

/** The same tool with the official SDK, under each of the names. */
export function sdkServer(names = ["add"]) {
  const server = new McpServer({ name: "bench", version: "1" });
  const inputSchema = { a: z.number(), b: z.number() };
  for (const name of names) {
    server.registerTool(name, { description: "Add", inputSchema }, ({ a, b }) => ({
      content: [{ type: "text", text: String(a + b) }],
    }));
  }
  return server;
}
