/** The official client, version 1, against our server. */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { everything } from "../../../examples/mcp-everything/everything.ts";
import { build } from "../../cli/process.ts";
import { describeWith } from "../../services.ts";
import { oneByOne, serveEverything, stdioCommand } from "./everything.ts";

/** Imported late: these packages come with npm test only. */
async function loadSdk() {
  const parts = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/client/sse.js"),
    import("@modelcontextprotocol/sdk/client/stdio.js"),
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    import("@modelcontextprotocol/sdk/types.js"),
  ]);
  return { ...parts[0], ...parts[1], ...parts[2], ...parts[3], ...parts[4] };
}

describeWith(["mcp peers"], "the official client, version 1", () => {
  let sdk: Awaited<ReturnType<typeof loadSdk>>;
  let served: Awaited<ReturnType<typeof serveEverything>>;

  beforeAll(async () => {
    [sdk, served] = await Promise.all([
      loadSdk(),
      serveEverything(everything, { httpSsePath: "/sse" }),
      build(),
    ]);
  });

  afterAll(async () => {
    await served.http.close();
  });

  const wires: readonly [name: string, transport: () => unknown][] = [
    ["Streamable HTTP", () => new sdk.StreamableHTTPClientTransport(served.url)],
    ["HTTP+SSE", () => new sdk.SSEClientTransport(new URL("/sse", served.url))],
    ["stdio", () => new sdk.StdioClientTransport({ ...stdioCommand, stderr: "ignore" })],
  ];

  describe.each(wires)("over %s", (_, transport) => {
    let client: Client;
    let elicited = 0;

    beforeAll(async () => {
      client = new sdk.Client(
        { name: "sdk-v1", version: "1.0.0" },
        { capabilities: { sampling: {}, elicitation: {}, roots: {} } },
      );
      client.setRequestHandler(sdk.ElicitRequestSchema, () => {
        elicited++;
        return { action: "accept", content: { username: "ada", email: "ada@example.com" } };
      });
      client.setRequestHandler(sdk.CreateMessageRequestSchema, () => ({
        role: "assistant",
        model: "test",
        content: { type: "text", text: "Paris" },
      }));
      // The SDK is not written for exact optional members.
      await client.connect(oneByOne(transport() as Transport));
    });

    afterAll(async () => {
      await client.close();
    });

    test("it is welcomed with what the server is and can", () => {
      expect(client.getServerVersion()).toMatchObject({ name: "mcp-everything" });
      expect(client.getServerCapabilities()).toMatchObject({
        tools: { listChanged: true },
        resources: { subscribe: true },
        completions: {},
        logging: {},
      });
    });

    test("it lists and calls tools", async () => {
      const { tools } = await client.listTools();
      expect(tools.map((tool) => tool.name)).toContain("test_simple_text");
      expect(await client.callTool({ name: "test_simple_text" })).toMatchObject({
        content: [{ type: "text", text: "This is a simple text response for testing." }],
      });
    });

    test("an unknown tool fails the request, a failing tool reports to the model", async () => {
      await expect(client.callTool({ name: "nothing" })).rejects.toMatchObject({ code: -32602 });
      expect(await client.callTool({ name: "test_error_handling" })).toMatchObject({
        isError: true,
      });
      const refused = await client.callTool({ name: "test_sampling", arguments: { prompt: 5 } });
      expect(refused).toMatchObject({ isError: true });
    });

    test("it learns of progress", async () => {
      const heard: number[] = [];
      await client.callTool({ name: "test_tool_with_progress" }, undefined, {
        onprogress: ({ progress }) => heard.push(progress),
      });
      expect(heard).toEqual([0, 50, 100]);
    });

    test("it gets messages of the level that it set, and of no lower one", async () => {
      const heard: unknown[] = [];
      client.setNotificationHandler(sdk.LoggingMessageNotificationSchema, ({ params }) => {
        heard.push(params.data);
      });
      await client.setLoggingLevel("warning");
      await client.callTool({ name: "test_tool_with_logging" });
      expect(heard).toEqual([]);
      await client.setLoggingLevel("debug");
      await client.callTool({ name: "test_tool_with_logging" });
      expect(heard).toEqual([
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
      ]);
    });

    test("it is asked for its model and its user", async () => {
      expect(
        await client.callTool({ name: "test_sampling", arguments: { prompt: "Capital?" } }),
      ).toMatchObject({ content: [{ text: expect.stringContaining("Paris") }] });
      const answer = await client.callTool({
        name: "test_elicitation",
        arguments: { message: "Who?" },
      });
      expect(answer).toMatchObject({ content: [{ text: expect.stringContaining("ada@example") }] });
      expect(elicited).toBeGreaterThan(0);
    });

    test("it reads resources, completes and gets prompts", async () => {
      const { resources } = await client.listResources();
      expect(resources.map(({ uri }) => uri)).toContain("test://static-text");
      const { contents } = await client.readResource({ uri: "test://template/7/data" });
      expect(contents[0]).toMatchObject({ text: expect.stringContaining('"7"') });
      await expect(client.readResource({ uri: "test://none" })).rejects.toMatchObject({
        code: -32002,
      });
      const { completion } = await client.complete({
        ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
        argument: { name: "arg1", value: "par" },
      });
      expect(completion.values).toEqual(["paris", "park", "party"]);
      const { messages } = await client.getPrompt({
        name: "test_prompt_with_arguments",
        arguments: { arg1: "a", arg2: "b" },
      });
      expect(messages).toHaveLength(1);
      await expect(
        client.getPrompt({ name: "test_prompt_with_arguments", arguments: {} }),
      ).rejects.toMatchObject({ code: -32602 });
    });

    test("a call that it cancels is stopped, and the wire continues", async () => {
      const gone = new AbortController();
      const call = client.callTool(
        { name: "slow_compute", arguments: { seconds: 60 } },
        undefined,
        {
          signal: gone.signal,
        },
      );
      gone.abort();
      await expect(call).rejects.toThrow();
      await client.ping();
    });

    test("it is notified of changes", async () => {
      const updated = new Promise((resolve) => {
        client.setNotificationHandler(sdk.ResourceUpdatedNotificationSchema, ({ params }) => {
          resolve(params.uri);
        });
      });
      const changed = new Promise<void>((resolve) => {
        client.setNotificationHandler(sdk.ToolListChangedNotificationSchema, () => resolve());
      });
      await client.subscribeResource({ uri: "test://watched-resource" });
      await client.callTool({ name: "test_trigger_tool_change" });
      await client.callTool({ name: "touch_watched_resource" });
      await changed;
      expect(await updated).toBe("test://watched-resource");
    });
  });
});
