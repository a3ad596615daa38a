// What the built package does on every runtime, each on its own and against a server in Node:
// `bun test/runtimes/portable-contract.mjs http://127.0.0.1:8000/rpc http://127.0.0.1:8001/rpc`, of
// which the second is an address where nobody listens. Exits with 1 if a promise was not kept.
import { createClient, createServer } from "callwire";
import { memoryPair } from "callwire/connection";
import { fetchHandler, httpLink } from "callwire/http";
import { sseLink } from "callwire/sse";
import { portLink, servePort } from "callwire/worker";
import { connectWebSocket, webSocketLink, wsHandler } from "callwire/ws";
import { check, codeOf, equal, exercise, inMessage, lines, settled } from "./portable-checks.mjs";
import { portableServer } from "./portable-methods.mjs";

const [url = "", closedUrl = ""] = process.argv.slice(2);
const { Bun, Deno } = /** @type {any} */ (globalThis);

// Strings in, strings out.
{
  const server = portableServer();
  check("receive answers at once when the method does", async () => {
    equal(
      server.receive('{"jsonrpc":"2.0","method":"math/add","params":{"a":2,"b":3},"id":"é"}'),
      '{"jsonrpc":"2.0","result":5,"id":"é"}',
    );
  });
  check("receive has no answer to a notification", async () => {
    equal(server.receive('{"jsonrpc":"2.0","method":"echo","params":["hi"]}'), undefined);
  });
  check("receive answers what is not JSON with a parse error", async () => {
    const answer = JSON.parse(String(await server.receive('{"jsonrpc":')));
    equal([answer.error.code, answer.id], [-32700, null]);
  });
}

// Both peers in memory.
{
  const [left, right] = memoryPair(createServer({ name: () => "left" }), portableServer());
  await exercise("in memory", left, { close: false });
  check("in memory either end calls the other", async () => {
    equal(await right.call("name"), "left");
    equal(await left.call("whoIsThere"), "left");
  });
  await settled();
  await left.close();
  await right.closed;
}

// Message ports.
{
  const { port1, port2 } = new MessageChannel();
  const served = servePort(portableServer(), port1);
  await exercise("over a message port", portLink(port2));
  await served.closed;
}

// As a client of a server in Node.
{
  await exercise("over HTTP", httpLink(url));
  await exercise("over events", sseLink(url), inMessage);
  await exercise("over a WebSocket", webSocketLink(url));
  await exercise(
    "over a WebSocket with headers",
    webSocketLink(url, { headers: { "x-own": "1" } }),
  );

  const connection = await connectWebSocket(url, { service: createServer({ name: () => "me" }) });
  check("over a WebSocket the server calls back", async () => {
    equal(await connection.call("whoIsThere"), "me");
  });
  check("over a WebSocket 500 calls are answered", async () => {
    const client = createClient(connection);
    const numbers = Array.from({ length: 500 }, (_, i) => i);
    equal(await Promise.all(numbers.map((n) => client.call("echo", [n]))), numbers);
  });
  await settled();
  await connection.close();

  check("a server that is not there is a connection that failed", async () => {
    const client = createClient(httpLink(closedUrl));
    equal(await codeOf(client.call("echo")), "CONNECTION_FAILED");
  });
}

// As a server.
if (Bun !== undefined) await serveWithBun();
else if (Deno !== undefined) await serveWithDeno();
else await serveWithNode();

await settled();
const checks = lines.filter((line) => /^(not )?ok - /.test(line)).length;
const broken = lines.some((line) => line.startsWith("not ok"));
console.log([...lines, `1..${checks}`].join("\n"));
// A server that still listens must not keep the process alive.
process.exit(broken ? 1 : 0);

async function serveWithBun() {
  const server = portableServer();
  const handler = fetchHandler(server);
  const hooks = wsHandler(server);
  const listening = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    websocket: hooks,
    /** @param {Request} request @param {any} own */
    async fetch(request, own) {
      if (request.headers.get("upgrade") === null) return handler(request);
      const verdict = await hooks.upgrade(request);
      if (verdict instanceof Response) return verdict;
      return own.upgrade(request, { data: verdict.context })
        ? undefined
        : new Response("no upgrade", { status: 400 });
    },
  });
  const own = `http://127.0.0.1:${listening.port}/rpc`;
  await exerciseServer("Bun.serve", own);
  await exercise("over a WebSocket of Bun.serve", webSocketLink(own));
  await listening.stop(true);
}

async function serveWithDeno() {
  const server = portableServer();
  const handler = fetchHandler(server);
  const hooks = wsHandler(server);
  const listening = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    /** @param {Request} request */
    async (request) => {
      if (request.headers.get("upgrade") !== "websocket") return handler(request);
      const verdict = await hooks.upgrade(request);
      if (verdict instanceof Response) return verdict;
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.addEventListener("open", () => hooks.open(socket));
      socket.addEventListener("message", (/** @type {any} */ { data }) =>
        hooks.message(socket, data),
      );
      socket.addEventListener("close", (/** @type {any} */ details) =>
        hooks.close(socket, details),
      );
      return response;
    },
  );
  const own = `http://127.0.0.1:${listening.addr.port}/rpc`;
  await exerciseServer("Deno.serve", own);
  await exercise("over a WebSocket of Deno.serve", webSocketLink(own));
  await listening.shutdown();
}

async function serveWithNode() {
  const { serveHttp } = await import("callwire/http/node");
  const { serveSocket, tcpLink } = await import("callwire/tcp");
  const server = portableServer();
  const http = await serveHttp(server, { port: 0 });
  await exerciseServer("serveHttp", http.url);
  await exercise("over events of serveHttp", sseLink(http.url), inMessage);
  const { request } = await import("node:http");
  const { zstdCompressSync, zstdDecompressSync } = /** @type {any} */ (await import("node:zlib"));
  // Node has it from 22.15 on.
  if (zstdCompressSync !== undefined) {
    check("serveHttp inflates zstd, and compresses with it", async () => {
      const sent = { jsonrpc: "2.0", method: "echo", params: ["x".repeat(5_000)], id: 1 };
      const headers = {
        "content-type": "application/json",
        "content-encoding": "zstd",
        "accept-encoding": "gzip, br, zstd",
      };
      const asking = request(http.url, { method: "POST", headers });
      asking.end(zstdCompressSync(JSON.stringify(sent)));
      const response = await new Promise((resolve) => asking.on("response", resolve));
      equal(response.headers["content-encoding"], "zstd");
      const compressed = Buffer.concat(await response.toArray());
      equal(JSON.parse(zstdDecompressSync(compressed).toString()).result, sent.params[0]);
    });
  }
  await exercise("over a WebSocket of serveHttp", webSocketLink(http.url));
  const { port } = await serveSocket(server, { port: 0 });
  await exercise("over TCP", tcpLink(`tcp://127.0.0.1:${port}`), inMessage);
  check("a server that closes closes its wires", async () => {
    await server.close();
    equal(await codeOf(createClient(httpLink(http.url)).call("echo")), "CONNECTION_FAILED");
  });
}

/**
 * What a server has to do whatever runtime it listens in.
 * @param {string} where
 * @param {string} own
 */
async function exerciseServer(where, own) {
  await exercise(`over ${where}`, httpLink(own));
  const call = '{"jsonrpc":"2.0","method":"echo","params":["hi"],"id":1}';
  /** @param {RequestInit} init */
  const answered = async (init, to = own) => {
    const response = await fetch(to, init);
    return [response.status, await response.text()];
  };
  const json = { "content-type": "application/json" };
  check(`${where} answers a notification with 204`, async () => {
    const body = '{"jsonrpc":"2.0","method":"echo"}';
    equal(await answered({ method: "POST", headers: json, body }), [204, ""]);
  });
  check(`${where} refuses GET, other types and pages of other origins`, async () => {
    const headers = { ...json, origin: "http://elsewhere.example" };
    const text = { "content-type": "text/plain" };
    equal((await answered({}))[0], 405);
    equal((await answered({ method: "POST", headers: text, body: call }))[0], 415);
    equal((await answered({ method: "POST", headers, body: call }))[0], 403);
  });
  check(`${where} streams in the plain form`, async () => {
    const [status, text] = await answered({}, `${own}/stream?method=math/count&to=2&id=7`);
    equal(status, 200);
    const data = String(text)
      .split("\n")
      .filter((line) => line.startsWith("data: "))
      .map((line) => line.slice(6));
    equal(data.at(-1), "[DONE]");
    equal(JSON.parse(data[2] ?? ""), { jsonrpc: "2.0", result: 2, id: 7 });
  });
  await settled();
}
