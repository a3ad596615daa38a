import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build, finish, start, startDemo, startInTerminal } from "../../cli/process.ts";
import { describeWith } from "../../services.ts";
import { HttpClient, request } from "./asking.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "callwire-mcp-"));
  await Promise.all([
    build(),
    writeFile(
      join(folder, "two.mjs"),
      `console.log("loading");
       export const methods = {
         add: (a, b) => a + b,
         greet: (name = "world") => { console.log("greeting"); return "Hello, " + name; },
       };`,
    ),
    writeFile(
      join(folder, "slow.ts"),
      `import { method } from "callwire";
       export const methods = {
         slow: method({}, (_, call) => new Promise((done) => {
           call.signal.addEventListener("abort", done);
         })),
       };`,
    ),
    writeFile(
      join(folder, "agents.ts"),
      `import { mcpServer, tool } from "callwire/mcp";
       const hi = tool({ description: "Says hi" }, (): string => "hi");
       export default mcpServer({ hi }, { name: "mine", version: "3.0.0" });`,
    ),
  ]);
});

afterAll(() => rm(folder, { recursive: true }));

/** Everything sent and received until the input ends. */
async function talk(module: string, lines: readonly unknown[]): Promise<unknown[]> {
  await using server = start(["serve", join(folder, module), "--mcp"]);
  for (const line of lines) {
    server.child.stdin?.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
  }
  server.child.stdin?.end();
  const { stdout, code } = await server.exited;
  expect(code).toBe(0);
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
};

test("a file of two functions is a server for agents, with one command", async () => {
  const replies = await talk("two.mjs", [
    initialize,
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: "", method: "tools/list" },
    { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "greet" } },
  ]);
  expect(replies).toMatchObject([
    { id: 0, result: { protocolVersion: "2025-06-18", serverInfo: { name: "two" } } },
    { id: "", result: { tools: [{ name: "add" }, { name: "greet" }] } },
    { id: 2, result: { content: [{ text: "Hello, world" }] } },
  ]);
});

test("its version is that of the package which the module belongs to", async () => {
  const deep = join(folder, "package", "src");
  await mkdir(deep, { recursive: true });
  const module = join("package", "src", "tools.mjs");
  await writeFile(join(folder, module), "export const methods = { one: () => 1 };");
  const version = async (manifest: string): Promise<unknown> => {
    await writeFile(join(folder, "package", "package.json"), manifest);
    const [reply] = await talk(module, [initialize]);
    return (reply as { result: { serverInfo: unknown } }).result.serverInfo;
  };
  expect(await version('{ "name": "tools", "version": "4.5.6" }')).toEqual({
    name: "tools",
    version: "4.5.6",
  });
  // If the nearest one has no version, those above it are not used.
  expect(await version('{ "version": 7 }')).toMatchObject({ version: "0.0.0" });
});

describeWith(["pseudo-terminals"], "in a terminal", () => {
  test("it says how many tools it has", async () => {
    const module = join(folder, "one.mjs");
    await writeFile(module, "export const one = () => 1;");
    await using server = startInTerminal(["serve", module, "--mcp"]);
    await server.shown(/^callwire serves 1 tool over MCP on stdio/m);
  });
});

test("lines that are not messages are answered, and the rest continues", async () => {
  const replies = await talk("two.mjs", [
    "garbage",
    '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "[]",
    "",
    '{"jsonrpc":"2.0","id":1,"method":"nothing/here"}',
    '{"jsonrpc":"2.0","id":2,"result":{}}',
    '{"jsonrpc":"2.0","id":3,"method":"ping"}',
  ]);
  expect(replies).toMatchObject([
    { error: { code: -32700 } },
    { error: { code: -32600 } },
    { error: { code: -32600 } },
    { id: 1, error: { code: -32601 } },
    { id: 3, result: {} },
  ]);
  expect(JSON.stringify(replies)).not.toContain('"id":null');
});

test("a call that was cancelled has no answer", async () => {
  const replies = await talk("slow.ts", [
    initialize,
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "slow" } },
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
    { jsonrpc: "2.0", id: 2, method: "ping" },
  ]);
  expect(replies).toMatchObject([{ id: 0 }, { id: 2 }]);
});

test("a module may export its own server for agents", async () => {
  const replies = await talk("agents.ts", [
    initialize,
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "hi" } },
  ]);
  expect(replies).toMatchObject([
    { result: { serverInfo: { name: "mine", version: "3.0.0" } } },
    { result: { content: [{ text: "hi" }] } },
  ]);
  const { code, stderr } = await finish(["serve", join(folder, "agents.ts")]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("--mcp")]);
});

test("with a port, agents and callers are served side by side", async () => {
  await using server = start(["serve", join(folder, "two.mjs"), "--mcp", "--port", "0"]);
  const [url] = await server.shown(/http:\S+\/mcp/);
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify(initialize),
  });
  expect(await response.json()).toMatchObject({ result: { serverInfo: { name: "two" } } });
});

test("the demo has its methods for agents too", async () => {
  await using demo = await startDemo();
  const client = new HttpClient(`${demo.origin}/mcp`);
  await client.initialize();
  const call = request("tools/call", { name: "add", arguments: { a: 2, b: 3 } });
  expect(await (await client.post(call)).json()).toMatchObject({
    result: { structuredContent: { result: 5 } },
  });
});
