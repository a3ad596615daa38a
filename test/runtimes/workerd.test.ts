import { type Client, createClient, type Link } from "callwire";
import { a2aClient } from "callwire/a2a";
import { httpLink } from "callwire/http";
import { mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { connectWebSocket, webSocketLink } from "callwire/ws";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build as buildPackage } from "../cli/process.ts";
import { describeWith } from "../services.ts";
import type { portableServer } from "./portable-methods.mjs";
import { type StartedWorker, startWorker } from "./workerd.ts";

// The built package in Cloudflare's runtime, which has neither Node's modules nor a lasting process.

type Methods = ReturnType<typeof portableServer>["api"];

describeWith(["workerd"], "a Worker", () => {
  let worker: StartedWorker;
  let url: string;

  beforeAll(async () => {
    await buildPackage();
    worker = await startWorker("test/runtimes/workerd-worker.mjs");
    ({ url } = worker);
  });

  afterAll(() => worker?.stop());

  test("answers calls, batches and notifications over HTTP", async () => {
    await using client = createClient<Methods>(httpLink(url));
    await answers(client);
  });

  test("inflates long requests and compresses long replies, once", async () => {
    const encodings: (string | null)[] = [];
    const observed = async (to: string, init: RequestInit) => {
      const response = await fetch(to, init);
      encodings.push(response.headers.get("content-encoding"));
      return response;
    };
    await using client = createClient<Methods>(httpLink(url, { compress: true, fetch: observed }));
    expect(await client.api.echo("x".repeat(5_000))).toBe("x".repeat(5_000));
    expect(encodings).toEqual(["gzip"]);
  });

  test.each([
    ["HTTP", httpLink],
    ["a WebSocket", webSocketLink],
  ])("returns a file that is longer than a message over %s", async (_, linkTo) => {
    await using client = createClient<Methods>(linkTo(url), { values: "rich" });
    const bytes = new Uint8Array(2_000_000).map((_, i) => i * 7 + (i >> 8));
    const copy = await client.api.copy({ file: new Blob([bytes], { type: "image/png" }) });
    expect(copy.type).toBe("image/png");
    expect(Buffer.compare(new Uint8Array(await copy.arrayBuffer()), bytes)).toBe(0);
  });

  test("streams and reports progress over HTTP", async () => {
    await using client = createClient<Methods>(httpLink(url));
    await streams(client);
  });

  test("is an agent, with its card, tasks and streams", async () => {
    const client = await a2aClient(new URL("/", url).href);
    expect(await client.send("a b")).toMatchObject({
      task: {
        status: { state: "TASK_STATE_COMPLETED" },
        artifacts: [{ parts: [{ text: "a" }, { text: "b" }] }],
      },
    });
    const texts: unknown[] = [];
    for await (const event of client.stream("c d"))
      if ("artifactUpdate" in event) texts.push(event.artifactUpdate.artifact.parts[0]);
    expect(texts).toMatchObject([{ text: "c" }, { text: "d" }]);
  });

  test("serves MCP clients, and asks them questions", async () => {
    await using client = mcpClient(mcpHttpLink(new URL("/mcp", url)), {
      name: "test",
      version: "1.0.0",
      era: "modern",
      elicitForm: () => ({ action: "accept", content: {} }),
    });
    expect(await client.callTool("add", { a: 2, b: 3 })).toMatchObject({
      content: [{ type: "text", text: "5" }],
    });
    const seen: unknown[] = [];
    const onProgress = (value: unknown) => seen.push(value);
    expect(await client.callTool("ask", {}, { onProgress })).toMatchObject({
      content: [{ type: "text", text: "accept" }],
    });
    expect(seen.length).toBeGreaterThan(0);
  });

  test("answers calls, streams and progress over a WebSocket", async () => {
    await using client = createClient<Methods>(webSocketLink(url));
    await answers(client);
    await streams(client);
  });

  test("notices over a WebSocket that a call was cancelled and a stream was left", async () => {
    const link: Link = await connectWebSocket(url);
    await using client = createClient<Methods>(link);
    const controller = new AbortController();
    const call = client.call("hang", ["call"], { signal: controller.signal });
    await client.call("hanging", ["call"]);
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    expect(await client.call("stopped", ["call"])).toBe(true);
    for await (const item of client.stream("endless", ["stream"])) if (item === 3) break;
    expect(await client.call("stopped", ["stream"])).toBe(true);
  });
});

async function answers(client: Client<Methods>): Promise<void> {
  expect(await client.api.math.add({ a: 2, b: 3 })).toBe(5);
  expect(await client.batch((b) => [b.math.add({ a: 1, b: 2 }), b.echo("hi")])).toEqual([3, "hi"]);
  await client.notify("echo", ["nobody answers"]);
  await expect(client.call("refuse")).rejects.toMatchObject({ code: 1001 });
  await expect(client.call("crash")).rejects.toMatchObject({ code: -32603 });
}

async function streams(client: Client<Methods>): Promise<void> {
  const items: unknown[] = [];
  for await (const item of client.api.math.count({ to: 3 })) items.push(item);
  expect(items).toEqual([0, 1, 2, 3]);
  const seen: unknown[] = [];
  const done = await client.call("work", [], { onProgress: (value) => seen.push(value) });
  expect([done, seen]).toEqual(["done", [1, 2]]);
}
