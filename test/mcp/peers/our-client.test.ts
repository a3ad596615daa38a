/** Our client against the official servers, version 1 and 2, in both eras. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { type McpClient, mcpClient, mcpHttpLink, mcpStdioLink } from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "../../entries.ts";
import { describeWith } from "../../services.ts";

const fileOf = (version: string) => `${root}test/mcp/peers/sdk-${version}-server.mjs`;

describeWith(["mcp peers"], "our client", () => {
  const children: ChildProcess[] = [];
  const urls = new Map<string, string>();

  beforeAll(async () => {
    for (const version of ["v1", "v2"]) {
      const child = spawn(process.execPath, [fileOf(version), "http"], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      children.push(child);
      const [url] = await once(createInterface(child.stdout), "line");
      urls.set(version, url);
    }
  });

  afterAll(async () => {
    await Promise.all(
      children.map(async (child) => {
        child.kill();
        await once(child, "exit");
      }),
    );
  });

  const http = (version: string) => () => mcpHttpLink(urls.get(version) as string);
  const stdio = (version: string) => () => mcpStdioLink(process.execPath, [fileOf(version)]);

  describe.each([
    ["version 1, Streamable HTTP", "2025-11-25", "auto", "v1", http("v1")],
    ["version 1, stdio", "2025-11-25", "auto", "v1", stdio("v1")],
    ["version 2, modern, Streamable HTTP", "2026-07-28", "auto", "v2", http("v2")],
    ["version 2, modern, stdio", "2026-07-28", "auto", "v2", stdio("v2")],
    ["version 2, legacy, Streamable HTTP", "2025-11-25", "legacy", "v2", http("v2")],
    ["version 2, legacy, stdio", "2025-11-25", "legacy", "v2", stdio("v2")],
  ] as const)("with %s", (name, revision, era, version, wire) => {
    let client: McpClient;
    const visited: string[] = [];
    // Without a session a server cannot ask.
    const isAsked = name !== "version 2, legacy, Streamable HTTP";

    beforeAll(async () => {
      client = mcpClient(wire(), {
        name: "callwire",
        version: "1.0.0",
        era,
        // A process may take long to start.
        probeMs: 15_000,
        elicitForm: () => ({ action: "accept", content: { name: "Ada" } }),
        sample: () => ({
          role: "assistant",
          model: "test",
          content: { type: "text", text: "Paris" },
        }),
        elicitUrl: ({ url }) => {
          visited.push(url);
          return { action: "accept" };
        },
        roots: [{ uri: "file:///tmp" }],
      });
      await client.connect();
    });

    afterAll(() => client.close());

    test("the revision is the one that it should be", () => {
      expect(client.server).toMatchObject({
        revision,
        info: { name: `sdk-${version}` },
        instructions: "Be kind.",
      });
    });

    test("tools are listed and called", async () => {
      const names = (await client.tools().all()).map((tool) => tool.name);
      expect(names).toEqual(expect.arrayContaining(["add", "report", "ask", "hang"]));
      const { structuredContent } = await client.callTool("add", { a: 2, b: 3 });
      expect(structuredContent).toEqual({ sum: 5 });
    });

    test("progress is received", async () => {
      const heard: unknown[] = [];
      await client.callTool("report", {}, { onProgress: ({ progress }) => heard.push(progress) });
      expect(heard).toEqual([1, 2, 3]);
    });

    if (isAsked)
      test("the server asks", async () => {
        const { content } = await client.callTool("ask");
        const text = version === "v1" ? "Ada, Paris, 1" : "Ada, first, 1";
        expect(content).toEqual([{ type: "text", text }]);
      });

    if (version === "v1") {
      test("the server starts tasks, and fetches their results", async () => {
        const { content } = await client.callTool("ask_later");
        const [block] = content;
        const heard: { type: string; task?: object; result?: object }[] = JSON.parse(
          block?.type === "text" ? block.text : "",
        );
        const last = (from: number) => heard.slice(from).find(({ result }) => result !== undefined);
        expect(heard[0]).toMatchObject({ type: "taskCreated", task: { status: "working" } });
        expect(last(0)?.result).toMatchObject({ action: "accept", content: { name: "Ada" } });
        const second = heard.findLastIndex(({ type }) => type === "taskCreated");
        expect(second).toBeGreaterThan(0);
        expect(last(second)?.result).toMatchObject({ content: { text: "Paris" } });
      });

      test("the server wants a page visited first", async () => {
        const { content } = await client.callTool("pay");
        expect(content).toEqual([{ type: "text", text: "paid" }]);
        expect(visited).toEqual(["https://example.com/pay"]);
      });
    }

    test("resources and prompts", async () => {
      const [resource] = await client.resources().all();
      expect(resource?.uri).toBe("test://text");
      expect(await client.readResource("test://text")).toMatchObject({
        contents: [{ text: "Hello" }],
      });
      expect((await client.resourceTemplates().all())[0]?.uriTemplate).toBe("test://item/{id}");
      const ref = { type: "ref/resource", uri: "test://item/{id}" } as const;
      const { values } = await client.complete(ref, { name: "id", value: "t" });
      expect(values).toEqual(["two"]);
      const [prompt] = await client.prompts().all();
      expect(prompt?.name).toBe("greet");
      const { messages } = await client.getPrompt("greet", { name: "Ada" });
      expect(messages[0]?.content).toMatchObject({ text: "Greet Ada" });
    });

    test("a cancelled call is stopped, and the wire continues", async () => {
      const gone = new AbortController();
      const call = client.callTool("hang", {}, { signal: gone.signal });
      setImmediate(() => gone.abort());
      await expect(call).rejects.toMatchObject({ code: "ABORTED" });
      await client.tools().all();
    });
  });

  test("a session that the server forgot is opened again", async () => {
    const url = urls.get("v1") as string;
    await using client = mcpClient(mcpHttpLink(url), { name: "callwire", version: "1.0.0" });
    await client.callTool("add", { a: 1, b: 2 });
    await fetch(new URL("/forget", url));
    const results = await Promise.all([1, 2, 3].map((a) => client.callTool("add", { a, b: 1 })));
    expect(results.map(({ structuredContent }) => structuredContent)).toEqual([
      { sum: 2 },
      { sum: 3 },
      { sum: 4 },
    ]);
  });

  test("changes are received in both eras", async () => {
    const heard = async (version: string, change: (client: McpClient) => Promise<unknown>) => {
      const url = urls.get(version) as string;
      // Time stands still, so that a stream that opens slowly is not a gap.
      const wire = mcpHttpLink(url, { clock: new FakeClock() });
      await using client = mcpClient(wire, { name: "callwire", version: "1.0.0" });
      let told: string | undefined;
      await using _ = await client.subscribe({ tools: true }, ({ kind }) => {
        told = kind;
      });
      // The stream of a session may open a little later, and earlier messages are lost.
      while (told === undefined) await change(client);
      return told;
    };
    expect(await heard("v1", (client) => client.callTool("grow"))).toBe("tools");
    const url = new URL("/change", urls.get("v2"));
    expect(await heard("v2", () => fetch(url))).toBe("tools");
  });
});
