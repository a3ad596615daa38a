import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, text, tool } from "callwire/mcp";
import { z } from "zod";
import { listing, toolNames } from "../mcp-request.mjs";

export default async () => {
  const input = z.object({ a: z.number(), b: z.number() });
  const add = tool({ description: "Add", input }, ({ a, b }) => [text(String(a + b))]);
  const methods = Object.fromEntries(toolNames.map((name) => [name, add]));
  const mounts = mcpMounts(mcpServer(methods, { name: "bench", version: "1" }));
  const { port } = await serveHttp(createServer({}), { port: 0, host: "127.0.0.1", mounts });
  return listing(port, "/mcp");
};
