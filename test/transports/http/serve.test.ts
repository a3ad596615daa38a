import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { createClient, createServer, method, silentLog, stream } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { FakeClock } from "callwire/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { root } from "../../entries.ts";
import { hasIpv6 } from "../../ip-versions.ts";
import { ownPort } from "../../own-port.ts";
import { whileTimePasses } from "../../passing-time.ts";
import { deferred } from "../contract/wire.ts";
import { turn } from "../contract-methods.ts";
import { add, json, post, RawClient, send, serve, sum } from "./wire.ts";

const methods = { add: (a: number, b: number) => a + b };

function fixture(name: string): string {
  return readFileSync(`${root}test/fixtures/tls/test-only-${name}.pem`, "utf8");
}

describe("paths", () => {
  test("a server shows its address", async () => {
    const http = await serve(methods);
    expect(http.url).toBe(`http://127.0.0.1:${http.port}/rpc`);
    expect(await createClient(httpLink(http.url)).call("add", [2, 3])).toBe(5);
  });

  test("the path is an option", async () => {
    const http = await serve(methods, { path: "/" });
    expect((await send(http.port, { path: "/", body: add })).text).toBe(sum);
    expect((await send(http.port, { path: "/rpc", body: add })).status).toBe(404);
    await expect(serve(methods, { path: "rpc" })).rejects.toThrow("slash");
  });

  test("several services share a port, each at its path", async () => {
    const other = createServer({ add: (a: number, b: number) => a + b + 100 });
    const { port } = await serve(methods, { mounts: { "/jsonrpc": other } });
    expect((await send(port, { body: add })).text).toBe(sum);
    expect((await send(port, { path: "/jsonrpc", body: add })).text).toContain('"result":105');
  });

  test("a handler has a path to itself, or all that is below one", async () => {
    const { port } = await serve(methods, {
      mounts: {
        "/version": (_, response) => response.end("one"),
        "/files/": (request, response) => response.end(request.url),
      },
    });
    const get = (path: string, headers = {}) => send(port, { method: "GET", path, headers });
    expect((await get("/version")).text).toBe("one");
    expect((await get("/files/a?b")).text).toBe("/files/a?b");
    expect((await get("/versions")).status).toBe(404);
    expect((await get("/version", { host: "evil.example" })).status).toBe(403);
    // A link on another site may lead here; the scripts of that site may not.
    expect((await get("/version", { "sec-fetch-site": "cross-site" })).status).toBe(200);
    expect((await get("/version", { origin: "http://evil.example" })).status).toBe(403);
  });

  test("every address is shown in a form that can be called", async () => {
    const http = await serve(methods, { host: "0.0.0.0" });
    expect(http.url).toBe(`http://localhost:${http.port}/rpc`);
    expect(
      (await send(http.port, { headers: { ...json, host: "0.0.0.0" }, body: add })).status,
    ).toBe(403);
  });

  test.skipIf(!hasIpv6)("an IPv6 address is in brackets (needs IPv6)", async () => {
    const http = await serve(methods, { host: "::1" });
    expect(http.url).toBe(`http://[::1]:${http.port}/rpc`);
    expect(await createClient(httpLink(http.url)).call("add", [2, 3])).toBe(5);
  });
});

describe("starting", () => {
  test("a port in use is reported clearly, with the original code", async () => {
    const { port } = await serve(methods);
    await expect(serve(methods, { port })).rejects.toMatchObject({
      message: `port ${port} of 127.0.0.1 is already in use`,
      code: "EADDRINUSE",
    });
  });

  test("an address of another machine is reported clearly", async () => {
    await expect(serve(methods, { host: "192.0.2.1" })).rejects.toMatchObject({
      message: "192.0.2.1 is not an address of this machine",
      code: "EADDRNOTAVAIL",
    });
  });

  test("the defaults of Node that are too patient are replaced", async () => {
    const { server } = await serve(methods);
    expect(server.headersTimeout).toBe(10_000);
    expect(server.requestTimeout).toBe(30_000);
    // A hundred more get the answer that the server is busy.
    expect(server.maxConnections).toBe(1100);
    expect(server.keepAliveTimeout).toBe(65_000);
  });

  test("more connections than the limit are dropped", async () => {
    const { port } = await serve(methods, { maxConnections: 1 });
    const first = new RawClient(port);
    first.write(post(add));
    await first.until((text) => text.endsWith(sum));
    await new RawClient(port).all();
    first.write(post(add));
    await first.until((text) => text.split(sum).length === 3);
  });
});

describe("HTTPS", () => {
  const tls = { key: fixture("key"), cert: fixture("cert") };

  test("a key and a certificate make it HTTPS", async () => {
    const http = await serve(methods, { tls });
    expect(http.url).toMatch(/^https:/);
    const link = httpLink(http.url, { tls: { ca: tls.cert } });
    expect(await createClient(link).call("add", [2, 3])).toBe(5);
    await link.close();
  });

  test("an untrusted certificate is refused by the client", async () => {
    const http = await serve(methods, { tls });
    await expect(createClient(httpLink(http.url)).call("add", [2, 3])).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
    });
  });

  test("TLS before 1.2 is refused", async () => {
    const { connect: connectTls } = await import("node:tls");
    const http = await serve(methods, { tls });
    const socket = connectTls({
      port: http.port,
      rejectUnauthorized: false,
      minVersion: "TLSv1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    });
    const failed = await new Promise((resolve) => {
      socket.on("error", resolve);
      socket.on("secureConnect", () => resolve(undefined));
    });
    expect(failed).toBeInstanceOf(Error);
  });

  test("a silent client does not keep it from closing", async () => {
    const clock = new FakeClock();
    const http = await serve(methods, { tls }, { clock });
    const accepted = once(http.server, "connection");
    const silent = new RawClient(http.port);
    await accepted;
    await whileTimePasses(clock, 500, http.close());
    expect(await silent.all()).toBe("");
  });

  test("plain HTTP to it does no harm", async () => {
    const http = await serve(methods, { tls });
    const client = new RawClient(http.port);
    client.write(post(add));
    await client.all();
    const link = httpLink(http.url, { tls: { ca: tls.cert } });
    expect(await createClient(link).call("add", [2, 3])).toBe(5);
    await link.close();
  });
});

describe("health", () => {
  test("a running server is healthy for every client", async () => {
    const { port } = await serve(methods);
    const answer = await send(port, {
      method: "GET",
      path: "/healthz",
      headers: { host: "10.1.2.3" },
    });
    expect(answer).toMatchObject({ status: 200, text: '{"status":"ok"}' });
  });

  test("a server that drains is alive, but not ready", async () => {
    const gate = deferred();
    const server = createServer({ wait: () => gate.promise }, { log: silentLog });
    const http = await serveHttp(server, { port: 0 });
    const waiting = send(http.port, { body: '{"jsonrpc":"2.0","method":"wait","id":1}' });
    await expect.poll(() => server.running.size, { interval: 1 }).toBe(1);
    const closing = server.close();
    const get = (path: string) => send(http.port, { method: "GET", path, headers: {} });
    expect(await get("/healthz")).toMatchObject({ status: 200, text: '{"status":"ok"}' });
    expect(await get("/readyz")).toMatchObject({ status: 503, text: '{"status":"draining"}' });
    const refused = await send(http.port, { body: add });
    expect(refused.status).toBe(503);
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: -32006 }, id: 1 });
    gate.resolve();
    expect((await waiting).status).toBe(200);
    await closing;
  });
});

describe("closing", () => {
  /** A server with a call that runs until the gate opens, and the connection that brought it. */
  async function busy() {
    const gate = deferred<string>();
    const started = deferred();
    const wait = () => {
      started.resolve();
      return gate.promise;
    };
    const http = await serve({ ...methods, wait }, { port: await ownPort() });
    const client = new RawClient(http.port);
    client.write(post('{"jsonrpc":"2.0","method":"wait","id":1}'));
    await started.promise;
    return { http, client, gate };
  }

  test("what runs finishes, and its connection closes", async () => {
    const { http, client, gate } = await busy();
    const closing = http.close();
    gate.resolve("finished");
    const text = await client.all();
    expect(text).toContain('"finished"');
    expect(text.toLowerCase()).toContain("connection: close");
    await closing;
    await expect(send(http.port, { body: add })).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  test("a request on an open connection is refused with 503", async () => {
    const { http, client, gate } = await busy();
    const closing = http.close();
    client.write(post(add));
    // Node continues to read only when the first answer has been sent.
    gate.resolve("first");
    expect(await client.all()).toContain('"first"');
    await closing;
  });

  test("calls that do not finish in time get an error, and their signal aborts", async () => {
    const started = [deferred<AbortSignal>(), deferred<AbortSignal>()] as const;
    const http = await serve(
      {
        count: stream({}, async function* (_, { signal }) {
          started[0].resolve(signal);
          yield 1;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        }),
        wait: method({}, (_, { signal }) => {
          started[1].resolve(signal);
          return new Promise(() => {});
        }),
      },
      { drainMs: 20 },
    );
    const call = (name: string) => `{"jsonrpc":"2.0","method":"${name}","id":1}`;
    const waiting = send(http.port, { body: call("wait") });
    const reading = send(http.port, {
      headers: { ...json, accept: "text/event-stream" },
      body: call("count"),
    });
    const signals = await Promise.all(started.map(({ promise }) => promise));
    await http.close();
    const answer = await waiting;
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32006 }, id: 1 });
    expect((await reading).text).toContain('"code":-32006');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  test("connections without a request do not hold it up", async () => {
    const clock = new FakeClock();
    const http = await serve(methods, {}, { clock });
    const idle = new RawClient(http.port);
    idle.write(post(add));
    await idle.until((text) => text.endsWith(sum));
    const silent = connect(http.port, "127.0.0.1");
    silent.on("error", () => {});
    await new Promise((resolve) => silent.once("connect", resolve));
    const closing = http.close();
    await idle.all();
    // Bytes on the silent connection may start a request; running calls would have ten seconds.
    clock.advance(1_000);
    await turn();
    clock.advance(250);
    await closing;
  });

  test("closing twice is closing once, and `await using` closes", async () => {
    const port = await ownPort();
    {
      await using http = await serveHttp(createServer(methods), { port });
      expect(http.close()).toBe(http.close());
    }
    await expect(send(port, { body: add })).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  test("a server that has closed still shows its address", async () => {
    const http = await serveHttp(createServer(methods), { port: 0 });
    const { url, port } = http;
    await http.close();
    expect(http.url).toBe(url);
    expect(http.port).toBe(port);
    expect(port).toBeGreaterThan(0);
  });

  test("closing the service closes its server", async () => {
    const server = createServer(methods);
    const http = await serveHttp(server, { port: await ownPort() });
    await server.close();
    await expect(send(http.port, { body: add })).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });
});

describe("upgrades", () => {
  const handshake = (path: string, headers = "") =>
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
    `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n`;

  test.each(["/rpc", "/rpc/ws"])("WebSockets are taken at %s", async (path) => {
    const { port } = await serve(methods);
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`);
    onTestFinished(() => socket.terminate());
    await new Promise((resolve) => socket.once("open", resolve));
    const reply = new Promise((resolve) => socket.once("message", (data) => resolve(`${data}`)));
    socket.send(add);
    expect(await reply).toBe(sum);
  });

  test.each([
    ["another path", "/other", "", 404],
    ["the path of streams", "/rpc/stream", "", 404],
    ["another origin", "/rpc", "Origin: https://evil.example\r\n", 403],
    ["the origin null", "/rpc/ws", "Origin: null\r\n", 403],
    ["another site", "/rpc/ws", "Sec-Fetch-Site: cross-site\r\n", 403],
    ["two hosts", "/rpc", "Host: localhost\r\n", 400],
  ])(
    "an upgrade from or to %s is refused before the socket closes",
    async (_, path, more, status) => {
      const { port } = await serve(methods);
      const client = new RawClient(port);
      client.write(handshake(path, more));
      const text = await client.all();
      expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(text).toContain('"code":-32600');
    },
  );

  test("an upgrade under another name is refused", async () => {
    const { port } = await serve(methods);
    const client = new RawClient(port);
    client.write(handshake("/rpc").replace("localhost", "evil.example"));
    expect(await client.all()).toMatch(/^HTTP\/1\.1 403 /);
  });

  test("a server without WebSockets refuses upgrades with a reason", async () => {
    const { port } = await serve(methods, { webSocket: false });
    const client = new RawClient(port);
    client.write(handshake("/rpc"));
    expect(await client.all()).toMatch(/^HTTP\/1\.1 426 /);
  });

  test("an offer of HTTP/2 is passed over, as Java's client makes it with every call", async () => {
    const { port } = await serve(methods);
    const client = new RawClient(port);
    const offer =
      "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n";
    client.write(post(add, offer));
    await client.until((text) => text.endsWith(sum));
    const bytes = post(add, offer);
    client.write(bytes.slice(0, -10));
    await new Promise((resolve) => setImmediate(resolve));
    client.write(bytes.slice(-10));
    await client.until((text) => text.split(sum).length === 3);
  });

  test("WebSockets that are open close with the server", async () => {
    const http = await serve(methods);
    const socket = new WebSocket(`ws://127.0.0.1:${http.port}/rpc`);
    await new Promise((resolve) => socket.once("open", resolve));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await http.close();
    await closed;
  });
});
