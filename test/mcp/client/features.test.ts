import { createServer, silentLog } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { type McpServer, mcpMounts, mcpServer, resource, tool } from "callwire/mcp";
import { type Change, type McpClient, McpTask, mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ownPort } from "../../own-port.ts";

let server: McpServer;
let http: HttpServer;
let url: URL;
let port: number;
let read = 0;

async function listen(): Promise<void> {
  http = await serveHttp(createServer({}), { port, mounts: mcpMounts(server) });
  url = new URL("/mcp", http.url);
}

beforeAll(async () => {
  server = mcpServer(
    {
      visit: tool({}, async (_, call) => {
        const { action } = await call.elicitUrl("Pay here", "https://example.com/pay");
        return action;
      }),
      slow: tool({ task: "optional" }, async (_, { signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return "stopped";
      }),
      quick: tool({ task: "optional" }, () => "done"),
      doubting: tool({ task: "required" }, async (_, call) => {
        const form = { type: "object", properties: {} } as const;
        const ask = async () => (await call.elicit("Sure?", form, { key: "sure" })).action;
        return [await ask(), await ask(), await ask()].join(" ");
      }),
      asking: tool({}, async (_, call) => {
        const form = { type: "object", properties: {} } as const;
        return (await call.elicit("Well?", form)).action;
      }),
    },
    {
      name: "test",
      version: "1",
      log: silentLog,
      cache: { ttlMs: 60_000, cacheScope: "private" },
      resources: [resource({ uri: "test://a", name: "a", read: () => `read ${++read}` })],
    },
  );
  port = await ownPort();
  await listen();
});

afterAll(async () => {
  await http.close();
  await server.close();
});

describe.each(["modern", "legacy"] as const)("%s", (era) => {
  let client: McpClient;
  const visited: string[] = [];

  beforeEach(() => {
    // Time stands still, so that the client waits for a stream that opens slowly.
    client = mcpClient(mcpHttpLink(url, { clock: new FakeClock() }), {
      name: "test",
      version: "1.0.0",
      log: silentLog,
      era,
      elicitUrl: ({ url: page }) => {
        visited.push(page);
        return { action: "accept" };
      },
    });
  });
  afterEach(() => client.close());

  test("the user is sent to a page", async () => {
    const { content } = await client.callTool("visit");
    expect(content).toMatchObject([{ text: "accept" }]);
    expect(visited).toEqual(["https://example.com/pay"]);
  });

  test("a task is polled, and awaited", async () => {
    const task = await client.beginTool("quick", {}, { task: { ttlMs: 60_000 } });
    if (!(task instanceof McpTask)) throw new Error("no task");
    expect(await task.result()).toMatchObject({ content: [{ text: "done" }] });
    const again = await client.task(task.id);
    expect(await again.status()).toMatchObject({ status: "completed", taskId: task.id });
    expect(again.latest).toHaveProperty("ttlMs");
  });

  test("a task that asks the same again is answered again", async () => {
    const answers = ["accept", "decline", "accept"] as const;
    let asked = 0;
    await using asking = mcpClient(mcpHttpLink(url), {
      name: "test",
      version: "1.0.0",
      era,
      elicitForm: () => ({ action: answers[asked++] ?? "cancel" }),
    });
    await asking.tools().all();
    const { content } = await asking.callTool("doubting");
    expect(content).toMatchObject([{ text: "accept decline accept" }]);
  });

  test("a closed client aborts the handlers of the server's questions", async () => {
    let tell: (signal: AbortSignal) => void = () => {};
    const asked = new Promise<AbortSignal>((resolve) => {
      tell = resolve;
    });
    const asking = mcpClient(mcpHttpLink(url), {
      name: "test",
      version: "1.0.0",
      era,
      elicitForm: (_, { signal }) => {
        tell(signal);
        return new Promise(() => {});
      },
    });
    const call = asking.callTool("asking");
    call.catch(() => {});
    const signal = await asked;
    await asking.close();
    expect(signal.aborted).toBe(true);
    await expect(call).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("a task is stopped", async () => {
    const task = await client.beginTool("slow", {}, { task: {} });
    if (!(task instanceof McpTask)) throw new Error("no task");
    expect((await task.status()).status).toBe("working");
    await task.cancel();
    expect((await task.status()).status).toBe("cancelled");
    await expect(task.result()).rejects.toThrow();
  });

  test("a changed resource is reported, and its cached result is dropped", async () => {
    const changes: Change[] = [];
    let tell: () => void = () => {};
    const told = new Promise<void>((resolve) => {
      tell = resolve;
    });
    await using _ = await client.subscribe({ uris: ["test://a"] }, (change) => {
      changes.push(change);
      tell();
    });
    const text = async () => (await client.readResource("test://a")).contents[0]?.text;
    const before = await text();
    if (era === "modern") expect(await text()).toBe(before);
    server.resourceUpdated("test://a");
    await told;
    expect(changes).toEqual([{ kind: "resource", uri: "test://a" }]);
    expect(await text()).not.toBe(before);
  });

  test("a subscription outlives a server that restarts", async () => {
    const self = { name: "test", version: "1.0.0", log: silentLog, era };
    // A stream of the new session that opens slowly would be another gap; the modern era has none.
    const clock = era === "legacy" ? new FakeClock() : undefined;
    await using client = mcpClient(mcpHttpLink(url, { clock }), self);
    const kinds: string[] = [];
    let tell: () => void = () => {};
    const next = () =>
      new Promise<void>((resolve) => {
        tell = resolve;
      });
    await using _ = await client.subscribe({ uris: ["test://a"] }, ({ kind }) => {
      kinds.push(kind);
      tell();
    });
    const mended = next();
    await http.close();
    await listen();
    // In the legacy era time stands still for the stream, so that the next request discovers that
    // the session is gone.
    if (era === "legacy") await client.tools().all();
    await mended;
    const changed = next();
    server.resourceUpdated("test://a");
    await changed;
    expect(kinds).toEqual(["gap", "resource"]);
  });
});
