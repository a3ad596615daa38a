import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, text, tool } from "callwire/mcp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { everything } from "../../examples/mcp-everything/everything.ts";
import { build, cli, type Exit, finish as finishIn, inSlowTime, start } from "./process.ts";

/** Suggestions are looked for within two seconds, in which the server may get no CPU time. */
const finish = (args: readonly string[]): Promise<Exit> => finishIn(args, inSlowTime);

let http: HttpServer;
let url: string;
let folder: string;

beforeAll(async () => {
  await build();
  folder = await mkdtemp(join(tmpdir(), "callwire-mcp-"));
  http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(everything) });
  url = new URL("/mcp", http.url).href;
});

afterAll(async () => {
  await http.close();
  await rm(folder, { recursive: true, force: true });
});

/** Answers every request with an empty object. */
const malformed = `
import { createInterface } from "node:readline";
const greeting = { protocolVersion: "2025-06-18", capabilities: { resources: {}, prompts: {} } };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  const result = method === "initialize" ? greeting : {};
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
}
`;

describe("callwire mcp", () => {
  test("lists tools, resources and prompts", async () => {
    const tools = await finish(["mcp", url, "tools"]);
    expect(tools).toMatchObject({ code: 0, stderr: "" });
    expect(tools.stdout).toMatch(/^greet +\S/m);
    const resources = await finish(["mcp", url, "resources"]);
    expect(resources.stdout).toMatch(/^test:\/\/static-text/m);
    expect(resources.stdout).toMatch(/^test:\/\/template\/\{id\}\/data/m);
    const prompts = await finish(["mcp", url, "prompts", "--json"]);
    expect(JSON.parse(prompts.stdout)[0]).toHaveProperty("name");
  });

  test("calls a tool, reads a resource and gets a prompt", async () => {
    expect(await finish(["mcp", url, "call", "greet", "name=Ada"])).toEqual({
      code: 0,
      stdout: "Hello, Ada!\n",
      stderr: "",
    });
    const read = await finish(["mcp", url, "read", "test://static-text"]);
    expect(read.stdout).toBe("This is the content of the static text resource.\n");
    const got = await finish(["mcp", url, "get", "test_prompt_with_arguments", "arg1=1", "arg2=b"]);
    expect(got.stdout).toMatch(/^user:\n.*1.*b/);
  });

  test("a text keeps its tabs and lines, and may not move the cursor", async () => {
    const table = tool({}, () => [text("a\tb\r\n\u001b[2Jc")]);
    const own = mcpServer({ table }, { name: "test", version: "1" });
    const served = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(own) });
    const place = new URL("/mcp", served.url).href;
    expect(await finish(["mcp", place, "call", "table"])).toEqual({
      code: 0,
      stdout: "a\tb\n\\u001b[2Jc\n",
      stderr: "",
    });
    await served.close();
  });

  test("a tool that fails exits with 1, after its output", async () => {
    const { code, stdout, stderr } = await finish(["mcp", url, "call", "test_error_handling"]);
    expect(code).toBe(1);
    expect(stdout).toContain("intentionally");
    expect(stderr).toBe("callwire: test_error_handling failed\n");
    expect(await finish(["mcp", url, "call", "nope"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^callwire: nope answered -32602 /),
    });
  });

  test.each([
    ["call", "gret", "greet"],
    ["get", "test_simple_promp", "test_simple_prompt"],
    ["read", "test://static-txt", "test://static-text"],
  ])("%s of a name that is misspelt shows the one that was meant", async (verb, name, meant) => {
    const { code, stderr } = await finish(["mcp", url, verb, name]);
    expect(stderr).toMatch(/^callwire: .* answered -3260[0-9] .*\n$/);
    expect(stderr).toContain(`; did you mean "${meant}"?\n`);
    expect(code).toBe(1);
  });

  test("an address without MCP is reported, with the right one", async () => {
    const rpc = await finish(["mcp", http.url, "tools"]);
    expect(rpc.stderr).toBe(
      `callwire: ${http.url} answered -32601 Method not found; it is not an MCP address; try ${url}\n`,
    );
    expect(rpc.code).toBe(1);
    const wrong = new URL("/wrong", url).href;
    const nowhere = await finish(["mcp", wrong, "call", "greet"]);
    expect(nowhere.stderr).toBe(
      `callwire: ${wrong}: no MCP server at this URL (status 404); try ${url}\n`,
    );
    const alone = await serveHttp(createServer({}), { port: 0 });
    const { url: methods } = alone;
    const none = await finish(["mcp", methods, "tools"]);
    await alone.close();
    expect(none.stderr).toBe(
      `callwire: ${methods} answered -32601 Method not found; it is not an MCP address\n`,
    );
  });

  test("talks to a program", async () => {
    const file = join(folder, "tools.mjs");
    await writeFile(file, "export const methods = { add: (a, b) => a + b };\n");
    const address = `stdio:"${process.execPath}" "${cli}" serve "${file}" --mcp`;
    const { code, stdout } = await finish(["mcp", address, "call", "add", "a=2", "b=3"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "5\n" });
  });

  test("serves the servers of a config as one", async () => {
    const tools = join(folder, "gateway-tools.mjs");
    await writeFile(tools, "export const add = (a, b) => a + b;\n");
    const config = join(folder, "gateway.json");
    const args = [cli, "serve", tools, "--mcp"];
    const mcpServers = { math: { command: process.execPath, args }, far: { url } };
    await writeFile(config, JSON.stringify({ mcpServers }));
    const address = `stdio:"${process.execPath}" "${cli}" mcp gateway --config "${config}"`;
    const { code, stdout } = await finish(["mcp", address, "call", "math_add", "a=2", "b=3"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "5\n" });
    expect((await finish(["mcp", address, "tools"])).stdout).toMatch(/^far_test_simple_text/m);
  });

  test("a gateway shows how many servers it forwards to, and no address without methods", async () => {
    const config = join(folder, "shown-gateway.json");
    await writeFile(config, JSON.stringify({ mcpServers: { one: { url }, two: { url } } }));
    await using gateway = start(["mcp", "gateway", "--config", config, "--port", "0"]);
    const [, origin = ""] = await gateway.shown(/npx callwire mcp (\S+)\/mcp tools/);
    const [banner] = await gateway.shown(/^callwire[\s\S]*Ctrl-C/);
    expect(banner).toMatch(/^callwire \S+ forwards to 2 MCP servers\n/);
    expect(banner).toContain(`${origin}/mcp`);
    expect(banner).not.toMatch(/\/rpc|WebSocket|SSE|curl/);
  });

  test.each([
    [["mcp", "gateway"], /mcp gateway needs --config/],
    [["mcp", "gateway", "--config", "missing.json"], /missing\.json/],
    [["mcp", "gateway", "--config", "x.json", "--host", "::1"], /--host needs HTTP; add --port/],
    [["mcp", "http://localhost:1/mcp", "tools", "--config", "x"], /--config is for/],
  ])("%j is refused with a reason", async (args, why) => {
    const { code, stderr } = await finish(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(why);
  });

  test.each([
    ["tools", "", "tools/list"],
    ["call", "x", "tools/call"],
    ["resources", "", "resources/list"],
    ["read", "a:b", "resources/read"],
    ["prompts", "", "prompts/list"],
    ["get", "x", "prompts/get"],
  ])("invalid results of a server are reported in one line: %s %s", async (verb, name, method) => {
    const file = join(folder, "malformed.mjs");
    await writeFile(file, malformed);
    const address = `stdio:"${process.execPath}" "${file}"`;
    const words = ["mcp", address, verb, name].filter((word) => word !== "");
    const { code, stdout, stderr } = await finish([...words, "--json"]);
    const { error } = JSON.parse(stdout) as { error: { code: string; message: string } };
    expect(error.code).toBe("BAD_REPLY");
    expect(error.message).toContain(`: the result of ${method} has no array at `);
    expect(stderr).toBe(`callwire: ${error.message}\n`);
    expect(code).toBe(1);
  });

  test("lists the arguments of a tool or prompt as they are written on the command line", async () => {
    const { stdout } = await finish(["mcp", url, "tools"]);
    expect(stdout).toMatch(/^greet +.*\n {4}\S/m);
    const file = join(folder, "functions.mjs");
    await writeFile(file, "export function add(a, b = 1) { return a + b; }\n");
    const address = `stdio:"${process.execPath}" "${cli}" serve "${file}" --mcp`;
    expect((await finish(["mcp", address, "tools"])).stdout).toBe("add\n    a [b=number]\n");
    const comment = "/**\n * Adds.\n * @param b The second.\n */\n";
    await writeFile(file, `${comment}export function add(a, b = 1) { return a + b; }\n`);
    expect((await finish(["mcp", address, "tools"])).stdout).toBe("add  Adds.\n    a [b=number]\n");
    const [tool] = JSON.parse((await finish(["mcp", address, "tools", "--json"])).stdout);
    expect(tool.inputSchema.properties).toEqual({
      a: {},
      b: { type: "number", default: 1, description: "The second." },
    });
    const prompts = await finish(["mcp", url, "prompts"]);
    expect(prompts.stdout).toMatch(/^test_prompt_with_arguments .*\n {4}arg1 arg2$/m);
  });

  test("a value that a tool declares as a string is sent as written", async () => {
    const show = tool(
      {
        description: "Shows what it got",
        input: {
          type: "object",
          properties: {
            id: { type: "string" },
            count: { type: "number" },
            either: { type: ["string", "number"] },
            perhaps: { type: ["string", "null"] },
            any: { anyOf: [{ type: "string" }, { type: "null" }] },
            place: { type: "object", properties: { zip: { type: "string" } } },
          },
        },
      },
      (args) => [text(JSON.stringify(args))],
    );
    const agents = mcpServer({ show }, { name: "strings", version: "1.0.0" });
    const mounts = mcpMounts(agents);
    await using server = await serveHttp(createServer({}), { port: 0, mounts });
    const address = new URL("/mcp", server.url).href;
    const shown = async (...words: string[]): Promise<unknown> => {
      const { code, stdout, stderr } = await finish(["mcp", address, "call", "show", ...words]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return JSON.parse(stdout);
    };
    expect(await shown("id=1", "count=2", "either=3", "place.zip=01234", "else=4")).toEqual({
      id: "1",
      count: 2,
      either: 3,
      place: { zip: "01234" },
      else: 4,
    });
    expect(await shown("id=1e3")).toEqual({ id: "1e3" });
    expect(await shown('id="x"')).toEqual({ id: '"x"' });
    expect(await shown("id=null")).toEqual({ id: "null" });
    expect(await shown("perhaps=1", "any=2")).toEqual({ perhaps: "1", any: "2" });
    expect(await shown("perhaps=null", "any=null")).toEqual({ perhaps: null, any: null });
    expect(await shown('{"id":"7","either":"8"}')).toEqual({ id: "7", either: "8" });
  });

  test("so is every argument of a prompt", async () => {
    const args = ["arg1=1.0", 'arg2="b"'];
    const { stdout } = await finish(["mcp", url, "get", "test_prompt_with_arguments", ...args]);
    expect(stdout).toContain("1.0");
    expect(stdout).toContain('"b"');
  });

  test("its help names no form of params that it refuses", async () => {
    const { stdout: help } = await finish(["mcp", "--help"]);
    expect(help).toContain("Params are a JSON object, named (a=2 b.c=3), @file, or -");
    expect(help).not.toContain("by position");
    expect(await finish(["mcp", url, "call", "greet", "Ada"])).toMatchObject({
      code: 2,
      stderr: "callwire: arguments must be named, such as a=2\n",
    });
  });

  test("output of a program that dies is shown once", async () => {
    const file = join(folder, "dies.mjs");
    await writeFile(file, 'process.stderr.write("no config\\n"); process.exitCode = 4;\n');
    const address = `stdio:"${process.execPath}" "${file}"`;
    expect(await finish(["mcp", address, "tools"])).toEqual({
      code: 3,
      stdout: "",
      stderr: `no config\ncallwire: ${address}: ${process.execPath} exited with code 4\n`,
    });
    // Until it differs.
    await writeFile(file, "process.stderr.write('no config ' + process.pid + '\\n');\n");
    const { stderr } = await finish(["mcp", address, "tools"]);
    expect(stderr.match(/^no config \d+$/gm)).toHaveLength(2);
  });

  test("--verbose shows the messages", async () => {
    const { stderr } = await finish(["mcp", url, "tools", "--verbose"]);
    expect(stderr).toMatch(/-->.*server\/discover/);
    expect(stderr).toMatch(/<--.*supportedVersions/);
  });

  test.each<[args: string[], line: RegExp]>([
    [[], /needs an address/],
    [["http://127.0.0.1:1/mcp"], /mcp needs tools, /],
    [["http://127.0.0.1:1/mcp", "constructor"], /mcp needs tools, /],
    [["http://127.0.0.1:1/mcp", "call"], /call needs a tool/],
    [["http://127.0.0.1:1/mcp", "tools", "add"], /unexpected argument "add" after tools/],
    [["http://127.0.0.1:1/mcp", "read", "a:b", "c=1"], /unexpected argument "c=1" after read/],
    [["http://127.0.0.1:1/mcp", "tools", "--token-file", ""], /--token-file needs a value/],
    [["ws://127.0.0.1:1/mcp", "tools"], /is not an MCP address/],
    [["http://127.0.0.1:1/mcp", "call", "add", "1", "2"], /must be named/],
  ])("%j is a mistake", async (args, line) => {
    const { code, stderr } = await finish(["mcp", ...args]);
    expect(stderr).toMatch(line);
    expect(code).toBe(2);
  });
});
