import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { createClient, createServer, method, silentLog, stream, WireError } from "callwire";
import type { Connection } from "callwire/connection";
import { FakeClock } from "callwire/testing";
import {
  connectWebSocket,
  type WebSocketConnectOptions,
  webSocketLink,
  wsUpgrade,
} from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import { ownPort } from "../../own-port.ts";
import { startProxy } from "../contract.ts";
import { serve, turn } from "./serving.ts";

const methods = {
  echo: (value: unknown) => value,
  back: method({}, (_, call) => call.peer.call("twice", [21])),
  count: stream({}, async function* () {
    for (let i = 0; i < 300; i++) yield i;
  }),
  work: method({}, async (_, call) => {
    call.progress(0.5);
    return "done";
  }),
};

async function connect(url: string, options?: WebSocketConnectOptions): Promise<Connection> {
  const connection = await connectWebSocket(url, options);
  onTestFinished(() => connection.close());
  return connection;
}

/** A server of `ws` alone, for misbehaving. */
async function strangeServer(
  options: object = {},
): Promise<{ url: string; server: WebSocketServer }> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", ...options });
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  return { server, url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test("calls, streams and progress work in both directions", async () => {
  const { url } = await serve(methods);
  const service = createServer({ twice: (n: number) => n * 2 });
  const client = createClient<typeof methods>(webSocketLink(url, { service }));
  onTestFinished(() => client.close());
  expect(await client.api.echo("hi")).toBe("hi");
  expect(await client.api.back()).toBe(42);
  const seen: number[] = [];
  for await (const n of client.api.count()) seen.push(n as number);
  expect(seen).toHaveLength(300);
  const reports: unknown[] = [];
  expect(await client.with({ onProgress: (value) => reports.push(value) }).api.work()).toBe("done");
  expect(reports).toEqual([0.5]);
});

describe("connecting", () => {
  test.each([403, 404, 503])("a refusal with %i fails with the status", async (status) => {
    const { url } = await serve(methods, { verify: () => ({ status, message: "no" }) });
    await expect(connectWebSocket(`${url}?ticket=secret`)).rejects.toMatchObject({
      name: "WireError",
      code: "CONNECTION_FAILED",
      status,
      message: `${url} refused the upgrade with ${status}`,
    });
  });

  test("a server without WebSocket fails it with its status", async () => {
    const http = createHttpServer((_, response) => response.writeHead(200).end("hello"));
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void http.close());
    const { port } = http.address() as AddressInfo;
    await expect(connectWebSocket(`ws://127.0.0.1:${port}/`)).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      status: 200,
    });
  });

  test("a call over a link that cannot connect fails with the reason", async () => {
    const client = createClient(webSocketLink(`ws://127.0.0.1:${await ownPort()}`));
    await expect(client.call("echo", [1])).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: expect.stringContaining("ECONNREFUSED"),
    });
    await client.close();
  });

  test("connecting to a host that does not answer times out", async () => {
    const silent = createTcpServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as AddressInfo;
    await expect(
      connectWebSocket(`ws://127.0.0.1:${port}`, { connectTimeoutMs: 50 }),
    ).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    const controller = new AbortController();
    const gone = connectWebSocket(`ws://127.0.0.1:${port}`, { signal: controller.signal });
    controller.abort(new Error("never mind"));
    await expect(gone).rejects.toThrow("never mind");
    await expect(
      connectWebSocket(`ws://127.0.0.1:${port}`, { signal: controller.signal }),
    ).rejects.toThrow("never mind");
  });

  test("an invalid address is an error at once", async () => {
    expect(() => webSocketLink("nonsense")).toThrow(TypeError);
    await expect(connectWebSocket("ftp://127.0.0.1/")).rejects.toThrow(TypeError);
  });

  test("http addresses, headers and subprotocols are understood", async () => {
    const { url } = await serve({
      headers: method({}, (_, { transport }) => transport.headers),
    });
    const connection = await connect(url.replace("ws:", "http:"), {
      headers: { "x-token": "t" },
      protocols: ["jsonrpc"],
    });
    expect(await connection.call("headers")).toMatchObject({
      "x-token": "t",
      "sec-websocket-protocol": "jsonrpc",
    });
    expect(connection.origin.transport).toMatchObject({
      kind: "websocket",
      remoteAddress: "127.0.0.1",
      headers: { "sec-websocket-protocol": "jsonrpc" },
    });
  });
});

describe("over TLS", () => {
  const pem = (name: string): Buffer =>
    readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url));
  const cert = pem("test-only-cert.pem");

  async function serveTls(): Promise<string> {
    const server = createServer(methods, { log: silentLog });
    const https = createHttpsServer({ cert, key: pem("test-only-key.pem") });
    https.on("upgrade", wsUpgrade(server));
    await new Promise<void>((resolve) => https.listen(0, "127.0.0.1", resolve));
    onTestFinished(async () => {
      https.close();
      await server.close();
    });
    return `wss://localhost:${(https.address() as AddressInfo).port}`;
  }

  test("calls work with a certificate that is trusted", async () => {
    const client = createClient(webSocketLink(await serveTls(), { tls: { ca: cert } }));
    const calls = Array.from({ length: 200 }, (_, i) => client.call("echo", [`${i} é`]));
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 200 }, (_, i) => `${i} é`));
    const long = "x".repeat(1_000_000);
    expect((await client.call("echo", [long])) === long).toBe(true);
    await client.close();
  });

  test("a certificate that is not trusted fails the connection", async () => {
    await expect(connectWebSocket(await serveTls())).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: expect.stringContaining("self-signed"),
    });
  });
});

describe("a wire that ends", () => {
  test("a server that dies in mid-call fails it before any time has passed", async () => {
    const { url, kill } = await serve({ wait: () => new Promise(() => {}) });
    const connection = await connect(url, { clock: new FakeClock() });
    const calls = [1, 2, 3].map(() => connection.call("wait").catch((error: unknown) => error));
    await turn();
    kill();
    for (const error of await Promise.all(calls)) {
      expect(error).toMatchObject({ name: "WireError", code: "CONNECTION_LOST" });
    }
    expect(await connection.closed).toBeInstanceOf(Error);
  });

  test("the code and the reason of a close are in the error", async () => {
    const { url, server } = await strangeServer();
    server.on("connection", (ws) => ws.on("message", () => ws.close(4001, "begone")));
    const connection = await connect(url);
    await expect(connection.call("any")).rejects.toMatchObject({
      code: "CONNECTION_LOST",
      message: "the WebSocket was closed with 4001: begone",
    });
  });

  test("a client that closes says that it is done, and a call after that fails", async () => {
    const { url, server } = await strangeServer();
    const closed = new Promise((resolve) =>
      server.on("connection", (ws) => ws.on("close", (code) => resolve(code))),
    );
    const connection = await connectWebSocket(url);
    await connection.close();
    expect(await closed).toBe(1000);
    expect(await connection.closed).toBeUndefined();
    await expect(connection.call("late")).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("calls that are made while the server closes never count as sent", async () => {
    const { url, server } = await strangeServer();
    server.on("connection", (ws) => ws.on("message", () => ws.close(1001)));
    const connection = await connect(url);
    await connection.call("any").catch(() => {});
    await expect(connection.call("late")).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("a server that sends nothing for too long counts as lost", async () => {
    const clock = new FakeClock();
    const { url } = await strangeServer({ autoPong: false });
    const connection = await connect(url, { clock });
    const call = connection.call("any").catch((error: unknown) => error);
    clock.advance(40_000);
    expect(await call).toMatchObject({
      code: "CONNECTION_LOST",
      message: "the peer did not answer a ping",
    });
    expect(clock.waiting).toBe(0);
  });

  test("an answer that is too long fails the call and not the program", async () => {
    const { url, server } = await strangeServer();
    server.on("connection", (ws) => ws.on("message", () => ws.send("x".repeat(5000))));
    const limits = { maxMessageBytes: 100, maxReplyLength: 100 };
    const connection = await connect(url, { limits, log: silentLog });
    await expect(connection.call("any")).rejects.toMatchObject({ code: "TOO_LARGE" });
    expect(await connection.closed).toBeInstanceOf(Error);
  });
});

describe("reconnecting", () => {
  test("a link continues over a new connection when the old one broke", async () => {
    const { port } = await serve(methods);
    const proxy = await startProxy({ port, host: "127.0.0.1" });
    onTestFinished(() => proxy.close());
    const lost: Error[] = [];
    const reconnect = { delayMs: 1, onLost: (error: Error) => void lost.push(error) };
    const link = webSocketLink(`ws://127.0.0.1:${proxy.port}`, { reconnect });
    const client = createClient<typeof methods>(link, { idempotent: ["echo"] });
    onTestFinished(() => client.close());
    for (let i = 0; i < 3; i++) {
      expect(await client.api.echo(i)).toBe(i);
      proxy.cut();
      while (lost.length <= i) await turn();
    }
    expect(await client.api.echo("healed")).toBe("healed");
  });

  test("a link that does not reconnect opens a new connection only for a call", async () => {
    const { port } = await serve(methods);
    const proxy = await startProxy({ port, host: "127.0.0.1" });
    onTestFinished(() => proxy.close());
    const client = createClient(
      webSocketLink(`ws://127.0.0.1:${proxy.port}`, { reconnect: false }),
    );
    expect(await client.call("echo", [1])).toBe(1);
    proxy.close();
    const error = await client.call("echo", [2]).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(WireError);
    await client.close();
  });
});
