import { createServer } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { mcpMounts } from "callwire/mcp";
import {
  type LogMessage,
  type McpClient,
  mcpClient,
  mcpHttpLink,
  mcpStdioLink,
} from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { everything } from "../../../examples/mcp-everything/everything.ts";
import { build } from "../../cli/process.ts";
import { root } from "../../entries.ts";

let http: HttpServer;
let url: URL;

beforeAll(async () => {
  await build();
  const mounts = mcpMounts(everything, { httpSsePath: "/sse" });
  http = await serveHttp(createServer({}), { port: 0, mounts });
  url = new URL("/mcp", http.url);
});

afterAll(() => http.close());

const stdio = () =>
  mcpStdioLink(
    process.execPath,
    ["--import", `${root}examples/typescript.mjs`, `${root}examples/mcp-everything/stdio.ts`],
    { stderr: "ignore" },
  );

const still = { clock: new FakeClock() };

describe.each([
  ["modern, Streamable HTTP", "2026-07-28", "auto", () => mcpHttpLink(url)],
  // Its time stands still, so that the client waits for the stream of the session, however slowly
  // it opens.
  ["legacy, Streamable HTTP", "2025-11-25", "legacy", () => mcpHttpLink(url, still)],
  ["HTTP+SSE", "2025-11-25", "auto", () => mcpHttpLink(new URL("/sse", url))],
  ["modern, stdio", "2026-07-28", "auto", stdio],
  ["legacy, stdio", "2025-11-25", "legacy", stdio],
] as const)("%s", (_, revision, era, wire) => {
  let client: McpClient;
  const logged: LogMessage[] = [];

  beforeAll(async () => {
    client = mcpClient(wire(), {
      name: "test",
      version: "1.0.0",
      era,
      // A process may take long to start.
      probeMs: 25_000,
      logLevel: "debug",
      onLog: (message) => logged.push(message),
      elicitForm: () => ({
        action: "accept",
        content: { name: "Ada", username: "ada", email: "ada@example.com", ok: true, color: "red" },
      }),
      sample: () => ({
        role: "assistant",
        model: "test",
        content: { type: "text", text: "Paris" },
      }),
      roots: [{ uri: "file:///tmp" }],
    });
    await client.connect();
  });

  afterAll(() => client.close());

  test("the era and the revision are found out", () => {
    expect(client.server).toMatchObject({ revision, info: { name: "mcp-everything" } });
  });

  test("tools are listed and called", async () => {
    const tools = await client.tools().all();
    expect(tools.map(({ name }) => name)).toContain("test_simple_text");
    const names: string[] = [];
    for await (const { name } of client.tools()) names.push(name);
    expect(names).toEqual(tools.map(({ name }) => name));
    expect(await client.callTool("greet", { name: "Ada" })).toMatchObject({
      content: [{ type: "text", text: "Hello, Ada!" }],
    });
    expect(await client.callTool("greet", {})).toMatchObject({ isError: true });
    await expect(client.callTool("none")).rejects.toMatchObject({ code: -32602 });
  });

  test("an argument travels as a header", async () => {
    expect(await client.callTool("test_header_param", { region: " Zürich " })).toMatchObject({
      content: [{ text: "Asked in  Zürich " }],
    });
  });

  test("the server asks, in as many rounds as it takes", async () => {
    expect(await client.callTool("test_input_required_result_multi_round")).toMatchObject({
      content: [{ text: "Ada likes red" }],
    });
    expect(await client.callTool("test_input_required_result_multiple_inputs")).toMatchObject({
      content: [{ text: "accept, test, 1 roots" }],
    });
  });

  test("progress and log messages are received", async () => {
    const heard: number[] = [];
    await client.callTool(
      "test_tool_with_progress",
      {},
      { onProgress: ({ progress }) => heard.push(progress) },
    );
    expect(heard).toEqual([0, 50, 100]);
    await client.callTool("test_tool_with_logging");
    expect(logged.map(({ level }) => level)).toEqual(["info", "info", "info"]);
  });

  test("resources are listed, read and completed", async () => {
    const uris = (await client.resources().all()).map(({ uri }) => uri);
    expect(uris).toContain("test://static-text");
    expect(await client.resourceTemplates().all()).toMatchObject([
      { uriTemplate: "test://template/{id}/data" },
    ]);
    const { contents } = await client.readResource("test://static-binary");
    expect(contents[0]).toMatchObject({ mimeType: "image/png" });
    await expect(client.readResource("test://none")).rejects.toThrow();
    const { values } = await client.complete(
      { type: "ref/resource", uri: "test://template/{id}/data" },
      { name: "id", value: "12" },
    );
    expect(values).toEqual(["123", "124"]);
  });

  test("prompts are listed and filled in", async () => {
    const names = (await client.prompts().all()).map(({ name }) => name);
    expect(names).toContain("test_prompt_with_arguments");
    const { messages } = await client.getPrompt("test_prompt_with_arguments", {
      arg1: "one",
      arg2: "two",
    });
    expect(JSON.stringify(messages)).toContain("one");
  });

  test("a cancelled call is stopped, and the wire continues", async () => {
    const gone = new AbortController();
    const call = client.callTool("slow_compute", { seconds: 60 }, { signal: gone.signal });
    gone.abort();
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    await client.ping();
  });

  test("a task is awaited, and asks its questions", async () => {
    expect(await client.callTool("confirm_delete", { filename: "a.txt" })).toMatchObject({
      content: [{ type: "text" }],
    });
  });

  test("changes are received until the subscription is closed", async () => {
    const heard: string[] = [];
    let tell: () => void = () => {};
    const changed = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const subscription = await client.subscribe({ tools: true }, ({ kind }) => {
      heard.push(kind);
      tell();
    });
    await client.callTool("test_trigger_tool_change");
    await changed;
    expect(new Set(heard)).toEqual(new Set(["tools"]));
    await subscription.close();
    expect(await subscription.closed).toBeUndefined();
  });
});
