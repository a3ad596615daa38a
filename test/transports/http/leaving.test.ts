/** Clients that left before they could be answered, because something slow was asked first. */
import { createServer as createNodeServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { createServer, type Middleware, silentLog } from "callwire";
import { type HttpServer, nodeHandler, serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer } from "callwire/mcp";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { whileTimePasses } from "../../passing-time.ts";
import { deferred } from "../contract/wire.ts";
import { endlessStream, post, RawClient, send } from "./wire.ts";

const call = '{"jsonrpc":"2.0","method":"endless","id":1}';

function head(lines: readonly string[]): string {
  return `${lines.join("\r\n")}\r\nHost: 127.0.0.1\r\n\r\n`;
}

/** Delays requests, from when a test says so. */
class Door {
  #came: (() => void) | undefined;
  #held: Promise<void> | undefined;

  async pass(): Promise<undefined> {
    this.#came?.();
    await this.#held;
    return undefined;
  }

  readonly middleware: Middleware = Object.assign(((next) => next) as Middleware, {
    admit: () => () => this.pass(),
  });

  /** Delays the next request until it is released. */
  hold(): { readonly came: Promise<void>; letGo(): void } {
    const came = deferred();
    const held = deferred();
    this.#came = came.resolve;
    this.#held = held.promise;
    return {
      came: came.promise,
      letGo: () => {
        this.#came = undefined;
        this.#held = undefined;
        held.resolve();
      },
    };
  }

  /** A client that leaves while its request is delayed; resolves when the server has noticed and handled that. */
  async turnsAway(port: number, lines: readonly string[], body = ""): Promise<void> {
    const { came, letGo } = this.hold();
    const socket = connect(port, "127.0.0.1");
    socket.write(`${head(lines)}${body}`);
    await came;
    const gone = this.gone();
    socket.destroy();
    await gone;
    letGo();
    await new Promise((resolve) => setImmediate(resolve));
  }

  gone: () => Promise<unknown> = () => Promise.resolve();

  /** Observes the sockets of a server. */
  watch({ server }: Pick<HttpServer, "server">): void {
    server.on("connection", (socket) => {
      this.gone = () => new Promise((resolve) => socket.once("close", resolve));
    });
  }
}

test("an agent that disconnects while it is authenticated does not listen, and may connect again", async () => {
  const door = new Door();
  const agents = mcpServer({}, { name: "a", version: "1", use: [door.middleware], log: silentLog });
  onTestFinished(() => agents.close());
  const http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(agents) });
  onTestFinished(() => http.close());
  door.watch(http);
  const { port } = http;
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {} },
  });
  const { headers } = await send(port, { path: "/mcp", body });
  const session = `Mcp-Session-Id: ${headers["mcp-session-id"]}`;
  const listen = ["GET /mcp HTTP/1.1", "Accept: text/event-stream", session];
  await door.turnsAway(port, listen);
  const again = new RawClient(port);
  again.write(head(listen));
  expect(await again.until((text) => text.includes("\r\n"))).toContain("200 OK");
});

test("an agent of 2024-11-05 that disconnects while it is authenticated leaves nothing behind", async () => {
  const door = new Door();
  const clock = new FakeClock();
  const agents = mcpServer({}, { name: "a", version: "1", clock, log: silentLog });
  onTestFinished(() => agents.close());
  const authorization = {
    resource: "http://127.0.0.1/mcp",
    authorizationServers: [],
    verify: async () => {
      await door.pass();
      return { id: "ada" };
    },
  };
  const mounts = mcpMounts(agents, { httpSsePath: "/sse", authorization });
  const http = await serveHttp(createServer({}), { port: 0, mounts });
  onTestFinished(() => http.close());
  door.watch(http);
  await door.turnsAway(http.port, ["GET /sse HTTP/1.1", "Authorization: Bearer ada"]);
  expect(clock.waiting).toBe(0);
});

/** A stream whose reader is gone, and the request for the rest of it. */
async function cutStream() {
  const door = new Door();
  const clock = new FakeClock();
  const { methods, ended } = endlessStream();
  const server = createServer(methods, { use: [door.middleware], clock, log: silentLog });
  const http = await serveHttp(server, { port: 0, graceMs: 5_000 });
  onTestFinished(() => http.close());
  door.watch(http);
  const { port } = http;
  const reader = new RawClient(port);
  reader.write(post(call, "Accept: text/event-stream\r\n"));
  const [, id] = /^id: (.*)$/m.exec(await reader.until((text) => text.includes("data: "))) ?? [];
  const gone = door.gone();
  reader.socket.destroy();
  await gone;
  const lines = ["GET /rpc HTTP/1.1", "Accept: text/event-stream", `Last-Event-ID: ${id}`];
  return { door, clock, ended, port, lines };
}

test("a reader that left during its check does not count, and its call ends after a while", async () => {
  const { door, clock, ended, port, lines } = await cutStream();
  await door.turnsAway(port, lines);
  await whileTimePasses(clock, 500, ended);
});

test("a reader whose call ended during its check gets an error", async () => {
  const { door, clock, ended, port, lines } = await cutStream();
  const { came, letGo } = door.hold();
  const late = new RawClient(port);
  late.write(head(lines));
  await came;
  await whileTimePasses(clock, 500, ended);
  letGo();
  expect(await late.until((text) => text.includes("\r\n"))).toContain("404 Not Found");
});

test("a stream does not start for a caller that left before it was passed on", async () => {
  const door = new Door();
  const { methods, ended } = endlessStream();
  const handle = nodeHandler(createServer(methods, { log: silentLog }), { replay: false });
  const node = createNodeServer(async (request: IncomingMessage & { body?: unknown }, response) => {
    // Like a body parser, followed by a slow lookup.
    let body = "";
    for await (const chunk of request) body += chunk;
    request.body = JSON.parse(body);
    await door.pass();
    handle(request, response);
  });
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => node.close(() => resolve())));
  door.watch({ server: node });
  const lines = [
    "POST / HTTP/1.1",
    "Content-Type: application/json",
    "Accept: text/event-stream",
    `Content-Length: ${call.length}`,
  ];
  await door.turnsAway((node.address() as AddressInfo).port, lines, call);
  await ended;
});
