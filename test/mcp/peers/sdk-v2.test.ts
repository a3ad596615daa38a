/** The official client, version 2, against our server, in both eras. */
import type { Client, ClientOptions, Transport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { everything } from "../../../examples/mcp-everything/everything.ts";
import { build } from "../../cli/process.ts";
import { describeWith } from "../../services.ts";
import { oneByOne, serveEverything, stdioCommand } from "./everything.ts";

async function loadSdk() {
  const parts = await Promise.all([
    import("@modelcontextprotocol/client"),
    import("@modelcontextprotocol/client/stdio"),
  ]);
  return { ...parts[0], ...parts[1] };
}

describeWith(["mcp peers"], "the official client, version 2", () => {
  let sdk: Awaited<ReturnType<typeof loadSdk>>;
  let served: Awaited<ReturnType<typeof serveEverything>>;

  beforeAll(async () => {
    [sdk, served] = await Promise.all([loadSdk(), serveEverything(everything), build()]);
  });

  afterAll(async () => {
    await served.http.close();
  });

  const http = () => new sdk.StreamableHTTPClientTransport(served.url);
  const stdio = () => new sdk.StdioClientTransport({ ...stdioCommand, stderr: "ignore" });
  const modern: ClientOptions = { versionNegotiation: { mode: "auto" } };

  const ways: readonly [
    name: string,
    transport: () => Transport,
    negotiation: ClientOptions,
    revision: string,
  ][] = [
    ["legacy, Streamable HTTP", http, {}, "2025-11-25"],
    ["legacy, stdio", stdio, {}, "2025-11-25"],
    ["modern, Streamable HTTP", http, modern, "2026-07-28"],
    ["modern, stdio", stdio, modern, "2026-07-28"],
  ];

  describe.each(ways)("%s", (_, transport, negotiation, revision) => {
    let client: Client;

    beforeAll(async () => {
      client = new sdk.Client(
        { name: "sdk-v2", version: "1.0.0" },
        { capabilities: { sampling: {}, elicitation: {}, roots: {} }, ...negotiation },
      );
      client.setRequestHandler("elicitation/create", () => ({
        action: "accept",
        content: { name: "Ada", username: "ada", email: "ada@example.com", ok: true, color: "red" },
      }));
      client.setRequestHandler("sampling/createMessage", () => ({
        role: "assistant",
        model: "test",
        content: { type: "text", text: "Paris" },
      }));
      client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///tmp" }] }));
      await client.connect(oneByOne(transport()));
    });

    afterAll(async () => {
      await client.close();
    });

    test("the revision is the one that it should be", () => {
      expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    });

    test("it lists and calls tools", async () => {
      const { tools } = await client.listTools();
      expect(tools.map((tool) => tool.name)).toContain("test_simple_text");
      expect(await client.callTool({ name: "test_simple_text" })).toMatchObject({
        content: [{ type: "text", text: "This is a simple text response for testing." }],
      });
      expect(await client.callTool({ name: "greet", arguments: { name: "Ada" } })).toMatchObject({
        content: [{ text: "Hello, Ada!" }],
      });
      expect(await client.callTool({ name: "greet", arguments: {} })).toMatchObject({
        isError: true,
      });
    });

    test("an argument that travels as a header is understood", async () => {
      await client.listTools();
      expect(
        await client.callTool({ name: "test_header_param", arguments: { region: " Zürich " } }),
      ).toMatchObject({ content: [{ text: "Asked in  Zürich " }] });
    });

    test("it is asked, in as many rounds as it takes", async () => {
      expect(
        await client.callTool({ name: "test_input_required_result_multi_round" }),
      ).toMatchObject({ content: [{ text: "Ada likes red" }] });
      expect(
        await client.callTool({ name: "test_input_required_result_multiple_inputs" }),
      ).toMatchObject({ content: [{ text: "accept, test, 1 roots" }] });
      const { messages } = await client.getPrompt({ name: "test_simple_prompt" });
      expect(messages).toHaveLength(1);
    });

    test("it learns of progress", async () => {
      const heard: number[] = [];
      await client.callTool(
        { name: "test_tool_with_progress" },
        { onprogress: ({ progress }) => heard.push(progress) },
      );
      expect(heard).toEqual([0, 50, 100]);
    });

    test("it reads resources and completes", async () => {
      const { contents } = await client.readResource({ uri: "test://static-binary" });
      expect(contents[0]).toMatchObject({ mimeType: "image/png", blob: expect.any(String) });
      await expect(client.readResource({ uri: "test://none" })).rejects.toThrow();
      const { completion } = await client.complete({
        ref: { type: "ref/resource", uri: "test://template/{id}/data" },
        argument: { name: "id", value: "12" },
      });
      expect(completion.values).toEqual(["123", "124"]);
    });

    test("a call that it cancels is stopped, and the wire continues", async () => {
      const gone = new AbortController();
      const call = client.callTool(
        { name: "slow_compute", arguments: { seconds: 60 } },
        { signal: gone.signal },
      );
      gone.abort();
      await expect(call).rejects.toThrow();
      await client.listPrompts();
    });
  });
});
