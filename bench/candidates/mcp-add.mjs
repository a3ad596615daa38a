import { mcpServer, text, tool } from "callwire/mcp";
import { z } from "zod";

/** One tool, as the candidates of the official SDK have it. */
export function addServer() {
  const input = z.object({ a: z.number(), b: z.number() });
  const add = tool({ description: "Add", input }, ({ a, b }) => [text(String(a + b))]);
  return mcpServer({ add }, { name: "bench", version: "1" });
}
