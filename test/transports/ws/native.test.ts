import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { createClient, createServer, ErrorCode, method, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { authenticate, bearer } from "callwire/security";
import { WebSocket as PlatformWebSocket } from "undici";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocketServer } from "ws";
// The link of browsers, Deno, Bun and Workers; undici has the WebSocket of browsers.
import { connectWebSocket, webSocketLink } from "../../../src/transports/ws/index.ts";
import { startProxy } from "../contract.ts";
import { serve, turn } from "./serving.ts";

beforeEach(() => void vi.stubGlobal("WebSocket", PlatformWebSocket));
afterEach(() => void vi.unstubAllGlobals());

const methods = {
  echo: (value: unknown) => value,
  back: method({}, (_, call) => call.peer.call("twice", [21])),
  count: async function* (to: number) {
    for (let i = 0; i < to; i++) yield i;
  },
};

/** A server of `ws` alone, for misbehaving. */
async function strangeServer(): Promise<{ url: string; server: WebSocketServer }> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  return { server, url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test("calls and streams work in both directions", async () => {
  const { url } = await serve(methods);
  const service = createServer({ twice: (n: number) => n * 2 });
  const client = createClient<typeof methods>(webSocketLink(url, { service }));
  expect(await client.api.echo("hi")).toBe("hi");
  expect(await client.api.back()).toBe(42);
  const seen: unknown[] = [];
  for await (const n of client.stream("count", [1000])) seen.push(n);
  expect(seen).toHaveLength(1000);
  const calls = Array.from({ length: 1000 }, (_, i) => client.call("echo", [i]));
  expect(await Promise.all(calls)).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  await client.close();
  await expect(client.call("echo", [1])).rejects.toMatchObject({ code: "CLOSED" });
});

describe("connecting", () => {
  test("a refusal fails, without the status that browsers hide", async () => {
    const { url } = await serve(methods, { verify: () => ({ status: 403, message: "no" }) });
    await expect(connectWebSocket(`${url}?ticket=secret`)).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: `${url} could not be reached (1006)`,
    });
  });

  test("connecting to a host that does not answer times out, or ends when the caller cancels", async () => {
    const silent = createTcpServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void silent.close());
    const url = `ws://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    await expect(connectWebSocket(url, { connectTimeoutMs: 50 })).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: `${url}/ did not answer within 50 ms`,
    });
    const controller = new AbortController();
    const gone = connectWebSocket(url, { signal: controller.signal });
    controller.abort(new Error("never mind"));
    await expect(gone).rejects.toThrow("never mind");
  });

  test("a page may name an address relative to itself", async () => {
    const { url } = await serve(methods);
    vi.stubGlobal("location", { href: `${url.replace("ws:", "http:")}/page` });
    const connection = await connectWebSocket("/rpc/ws");
    expect(await connection.call("echo", [1])).toBe(1);
    await connection.close();
  });

  test("headers go where the platform takes them, and are an error elsewhere", async () => {
    const { url } = await serve({ header: method({}, (_, call) => call.transport.headers["x-a"]) });
    const connection = await connectWebSocket(url, { headers: { "x-a": "1" } });
    expect(await connection.call("header")).toBe("1");
    await connection.close();
    vi.stubGlobal(
      "WebSocket",
      class {
        constructor() {
          throw new SyntaxError("The subprotocol '[object Object]' is invalid.");
        }
      },
    );
    await expect(connectWebSocket(url, { headers: { "x-a": "1" } })).rejects.toMatchObject({
      code: "UNSUPPORTED",
    });
    await expect(connectWebSocket(url)).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
  });
});

describe("a wire that ends", () => {
  test("a server that dies in mid-call fails it", async () => {
    const { url, kill } = await serve({ wait: () => new Promise(() => {}) });
    const connection = await connectWebSocket(url);
    const call = connection.call("wait").catch((error: unknown) => error);
    await turn();
    kill();
    expect(await call).toMatchObject({ name: "WireError", code: "CONNECTION_LOST" });
  });

  test("the code and the reason of a close are in the error", async () => {
    const { url, server } = await strangeServer();
    server.on("connection", (ws) => ws.on("message", () => ws.close(1013, "later")));
    const connection = await connectWebSocket(url);
    await expect(connection.call("any")).rejects.toMatchObject({
      code: "CONNECTION_LOST",
      message: "the WebSocket was closed with 1013: later",
    });
  });

  test("a server that sends only binary frames gets an error, and the connection is closed with a code that pages may use", async () => {
    const { url, server } = await strangeServer();
    const heard: string[] = [];
    const closed = new Promise((resolve) =>
      server.on("connection", (ws) => {
        ws.on("message", (data) => heard.push(data.toString()));
        ws.on("close", resolve);
        for (let i = 0; i < 10; i++) ws.send(Buffer.from("{}"));
      }),
    );
    const service = createServer(methods, { log: silentLog });
    const connection = await connectWebSocket(url, { service });
    expect(await closed).toBe(4008);
    expect(heard).toHaveLength(10);
    expect(JSON.parse(heard[0] ?? "")).toMatchObject({ error: { code: -32700 } });
    await connection.closed;
  });

  test("a link reconnects", async () => {
    const { port } = await serve(methods);
    const proxy = await startProxy({ port, host: "127.0.0.1" });
    onTestFinished(() => proxy.close());
    let lost = 0;
    const reconnect = { delayMs: 1, onLost: () => void lost++ };
    const link = webSocketLink(`ws://127.0.0.1:${proxy.port}`, { reconnect });
    const client = createClient(link);
    expect(await client.call("echo", [1])).toBe(1);
    proxy.cut();
    while (lost === 0) await turn();
    expect(await client.call("echo", [2])).toBe(2);
    await client.close();
  });
});

test("a stream to a server that reads slowly waits until it has read", async () => {
  const { url, server } = await strangeServer();
  const seen = new Promise<number>((resolve) => {
    server.on("connection", (ws) => {
      let items = 0;
      ws.pause();
      setTimeout(() => ws.resume(), 100);
      ws.on("message", (data) => {
        if (data.toString().includes("$/stream")) items++;
        else resolve(items);
      });
      ws.send('{"jsonrpc":"2.0","method":"items","id":1}');
    });
  });
  const limits = { maxBufferedBytes: 1024 * 1024 };
  const items = async function* () {
    for (let i = 0; i < 2000; i++) yield "x".repeat(10_000);
  };
  const connection = await connectWebSocket(url, { service: createServer({ items }, { limits }) });
  expect(await seen).toBe(2000);
  await connection.close();
});

test("a page learns why its connection is refused, and does not try that again", async () => {
  let accepted = "old";
  const asked: string[] = [];
  const verify = (token: string) => {
    asked.push(token);
    return token === accepted ? { id: "ann" } : undefined;
  };
  const use = [authenticate(bearer(verify))];
  const serveAgain = (own: number) =>
    serveHttp(createServer(methods, { use, log: silentLog }), { port: own });
  const first = await serveAgain(0);
  const { port } = first;
  // Browsers name the origin of their page.
  const headers = { origin: `http://127.0.0.1:${port}`, authorization: "Bearer old" };
  const reconnect = { attempts: Number.POSITIVE_INFINITY, delayMs: 5, maxDelayMs: 5 };
  await using client = createClient<typeof methods>(
    webSocketLink(`ws://127.0.0.1:${port}/rpc/ws`, { headers, reconnect }),
  );
  expect(await client.api.echo("hi")).toBe("hi");
  accepted = "new";
  const stopped = new Promise<void>((resolve) => {
    client.onState((state) => void (state === "idle" && resolve()));
  });
  await first.close();
  await using _second = await serveAgain(port);
  await stopped;
  expect(asked).toEqual(["old", "old"]);
  await expect(client.api.echo("hi")).rejects.toMatchObject({
    code: ErrorCode.Unauthenticated,
    message: "Unauthenticated",
  });
});
