import { silentLog } from "callwire";
import { mcpGateway, tool } from "callwire/mcp";
import { mcpClient, mcpMemoryLink, mcpStdioLink } from "callwire/mcp/client";
import { expect, test } from "vitest";
import { root } from "../../entries.ts";

const info = { name: "test", version: "1.0.0", log: silentLog };

/** A legacy server that kills itself in the middle of a call, as `kill -9` does. */
const program = `
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
let text = "";
process.stdin.on("data", (chunk) => {
  text += chunk;
  const lines = text.split("\\n");
  text = lines.pop();
  for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
    if (id === undefined) continue;
    const tools = ["pay", "pid"].map((name) => ({ name, inputSchema: { type: "object" } }));
    if (method === "initialize") send({ id, result: { protocolVersion: "2025-06-18",
      capabilities: { tools: {} }, serverInfo: { name: "fragile", version: "1" } } });
    else if (method === "tools/list") send({ id, result: { tools } });
    else if (method !== "tools/call") send({ id, error: { code: -32601, message: "Method not found" } });
    else if (params.name === "pay") process.kill(process.pid, "SIGKILL");
    else send({ id, result: { content: [{ type: "text", text: String(process.pid) }] } });
  }
});
`;

test("a call whose server is killed is reported as one that may have run, and the server starts again", async () => {
  const fragile = mcpStdioLink(process.execPath, ["-e", program], { cwd: root });
  const own = { add: (a: number, b: number) => a + b, note: tool({}, () => "noted") };
  const gateway = mcpGateway({ fragile, own }, info);
  await using client = mcpClient(mcpMemoryLink(gateway), info);
  const before = await client.callTool("fragile_pid");
  await expect(client.callTool("fragile_pay")).rejects.toMatchObject({
    code: -32009,
    data: { ran: "unknown", reason: "connection-lost" },
  });
  expect(await client.callTool("own_add", { a: 1, b: 2 })).toMatchObject({
    content: [{ text: "3" }],
  });
  const after = await client.callTool("fragile_pid");
  expect(after.content).not.toEqual(before.content);
  await gateway.close();
});
