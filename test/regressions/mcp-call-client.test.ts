import { createServer, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, tool } from "callwire/mcp";
import { mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { expect, test } from "vitest";

// `call.client` was the session, which has its secret id and cannot be serialized while it is used.

test.each(["legacy", "modern"] as const)("call.client is plain data (%s)", async (era) => {
  const server = mcpServer(
    { whoami: tool({}, (_, call) => JSON.stringify(call.client)) },
    { name: "test", version: "1.0.0", log: silentLog },
  );
  await using http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(server) });
  await using client = mcpClient(mcpHttpLink(new URL("/mcp", http.url)), {
    name: "asker",
    version: "2.0.0",
    log: silentLog,
    era,
    roots: [],
  });
  const { content } = await client.callTool("whoami");
  const [{ text } = { text: "" }] = content as unknown as readonly { text: string }[];
  expect(JSON.parse(text)).toEqual({
    revision: era === "legacy" ? "2025-11-25" : "2026-07-28",
    capabilities: expect.objectContaining({ roots: expect.any(Object) }),
    info: { name: "asker", version: "2.0.0" },
  });
});
