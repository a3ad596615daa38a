/** Our client against published servers of other authors. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type McpClient, mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownPort } from "../../own-port.ts";
import { describeWith } from "../../services.ts";
import { fileOf, linkTo, type ServerName } from "./npm-servers.ts";

describeWith(["mcp peers"], "our client with a server from npm", () => {
  let folder: string;

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), "callwire-")));
    await writeFile(join(folder, "note.txt"), "first line\n");
  });

  afterAll(() => rm(folder, { recursive: true }));

  const open = (name: ServerName): McpClient =>
    mcpClient(linkTo(name, folder), {
      name: "callwire",
      version: "1.0.0",
      probeMs: 15_000,
      elicitForm: () => ({ action: "accept", content: { name: "Ada", check: true } }),
      sample: () => ({
        role: "assistant",
        model: "test",
        content: { type: "text", text: "Paris" },
      }),
      roots: [{ uri: `file://${folder}` }],
    });

  const text = async (client: McpClient, tool: string, args: object): Promise<string> => {
    const { content } = await client.callTool(tool, { ...args });
    return content.map((each) => (each.type === "text" ? each.text : each.type)).join("\n");
  };

  test("everything: tools, progress, questions, resources, prompts and completions", async () => {
    await using client = open("everything");
    expect(await text(client, "get-sum", { a: 2, b: 3 })).toContain("5");
    const heard: number[] = [];
    await client.callTool(
      "trigger-long-running-operation",
      { duration: 0.05, steps: 2 },
      { onProgress: ({ progress }) => heard.push(progress) },
    );
    expect(heard).toEqual([1, 2]);
    expect(await text(client, "trigger-elicitation-request", {})).toContain("Ada");
    const asked = { prompt: "Capital?", maxTokens: 10 };
    expect(await text(client, "trigger-sampling-request", asked)).toContain("Paris");
    expect(await text(client, "get-roots-list", {})).toContain(folder);
    const structured = await client.callTool("get-structured-content", { location: "New York" });
    expect(structured.structuredContent).toMatchObject({ temperature: expect.any(Number) });
    const [resource] = await client.resources().all();
    expect((await client.readResource(resource?.uri ?? "")).contents).toHaveLength(1);
    const { messages } = await client.getPrompt("args-prompt", { city: "Paris" });
    expect(messages[0]?.content).toMatchObject({ text: expect.stringContaining("Paris") });
    const ref = { type: "ref/prompt", name: "completable-prompt" } as const;
    const { values } = await client.complete(ref, { name: "department", value: "E" });
    expect(values).toContain("Engineering");
  }, 30_000);

  test("files: a folder that it may read, and one that it may not", async () => {
    await using client = open("files");
    const path = join(folder, "note.txt");
    expect(await text(client, "read_text_file", { path })).toContain("first line");
    expect(await client.callTool("read_text_file", { path: "/etc/passwd" })).toMatchObject({
      isError: true,
    });
  }, 30_000);

  test("memory: what is stored is found", async () => {
    await using client = open("memory");
    const entities = [{ name: "Ada", entityType: "person", observations: ["writes programs"] }];
    await client.callTool("create_entities", { entities });
    expect(await text(client, "search_nodes", { query: "programs" })).toContain("Ada");
  }, 30_000);

  test("thinking: structured content", async () => {
    await using client = open("thinking");
    const thought = { thought: "1", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };
    const { structuredContent } = await client.callTool("sequentialthinking", thought);
    expect(structuredContent).toMatchObject({ thoughtNumber: 1 });
  }, 30_000);

  test("github: tools of an SDK from 2024, and bad arguments", async () => {
    await using client = open("github");
    expect(client.server).toBeUndefined();
    const names = (await client.tools().all()).map(({ name }) => name);
    expect(names).toContain("create_issue");
    await expect(client.callTool("create_issue", {})).rejects.toThrow("Invalid input");
  }, 30_000);

  test("commands: output and an exit code that is an error", async () => {
    await using client = open("commands");
    expect(await text(client, "run_command", { command: "echo hello" })).toContain("hello");
    expect(await client.callTool("run_command", { command: "exit 3" })).toMatchObject({
      isError: true,
    });
  }, 30_000);

  test("everything over HTTP: a restarted server is recovered from, although it answers 400", async () => {
    const port = await ownPort();
    const start = async (): Promise<ChildProcess> => {
      const child = spawn(process.execPath, [fileOf("everything"), "streamableHttp"], {
        env: { ...process.env, PORT: `${port}` },
        stdio: ["ignore", "ignore", "pipe"],
      });
      for await (const line of createInterface(child.stderr)) {
        if (line.includes("listening")) break;
      }
      return child;
    };
    const stop = async (child: ChildProcess): Promise<void> => {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    };
    let child = await start();
    const client = mcpClient(mcpHttpLink(`http://127.0.0.1:${port}/mcp`), {
      name: "callwire",
      version: "1.0.0",
    });
    try {
      expect(await text(client, "get-sum", { a: 1, b: 2 })).toContain("3");
      let restarted: Promise<ChildProcess> | undefined;
      const restart = (): void => {
        restarted ??= stop(child).then(start);
      };
      const long = { duration: 60, steps: 600 };
      const slow = client.callTool("trigger-long-running-operation", long, { onProgress: restart });
      await expect(slow).rejects.toMatchObject({ code: "CONNECTION_LOST" });
      child = (await restarted) ?? child;
      const sums = await Promise.all([1, 2, 3].map((a) => text(client, "get-sum", { a, b: 10 })));
      expect(sums.map((each) => /1\d/.exec(each.slice(each.indexOf("is")))?.[0])).toEqual([
        "11",
        "12",
        "13",
      ]);
    } finally {
      await client.close();
      await stop(child);
    }
  }, 60_000);
});
