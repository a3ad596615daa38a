import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server as NetServer,
} from "node:net";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { createServer, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { bearer, secureDefaults } from "callwire/security";
import { serveSocket } from "callwire/tcp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build, cli, finish, type Process, startDemo } from "./process.ts";

let demo: Process & { readonly origin: string };
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  await build();
  demo = await startDemo(["--tcp", "0"]);
});

afterAll(async () => {
  await demo?.[Symbol.asyncDispose]();
  await Promise.all(closers.map((close) => close()));
});

async function addressOf(server: NetServer): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function httpServer(answer: RequestListener): Promise<string> {
  return `http://${await addressOf(createHttpServer(answer))}`;
}

const discovery = {
  title: "callwire demo",
  methods: 21,
  streams: ["math/count", "math/add_stream", "paritosh/stream"],
};

const limits = {
  batch: { taken: 100, refused: 101 },
  depth: { taken: 64, refused: 65 },
  messageBytes: { taken: 1_048_576, refused: 1_048_577 },
};

/** For a server that answers, however long a busy machine takes to start it. */
const patient = ["--timeout", "30000ms"];

/** What the command finds out about such a server. */
async function inspected(url: string, ...flags: string[]): Promise<Record<string, unknown>> {
  const args = ["inspect", url, "--json", ...patient, ...flags];
  const { code, stdout, stderr } = await finish(args);
  expect(stderr).toBe("");
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

describe("our own server", () => {
  test("over HTTP", async () => {
    const { origin } = demo;
    const ws = origin.replace(/^http/, "ws");
    expect(await inspected(`${origin}/rpc`)).toMatchObject({
      versions: { "2.0": true, "1.0": false },
      batch: true,
      notificationsAnswered: false,
      discovery,
      limits,
      wires: [
        { wire: "WebSocket", url: `${ws}/rpc` },
        { wire: "WebSocket", url: `${ws}/rpc/ws` },
        { wire: "SSE", url: `${origin}/rpc` },
        { wire: "SSE", url: `${origin}/rpc/stream` },
      ],
      http: { call: 200, notification: 204, wrongContentType: 415, notJson: 200 },
    });
  });

  test("over WebSocket", async () => {
    const { origin } = demo;
    const found = await inspected(`${origin.replace(/^http/, "ws")}/rpc/ws`);
    expect(found).toMatchObject({ batch: true, notificationsAnswered: false, discovery, limits });
    expect(found.http).toBeNull();
    expect(found.wires).toContainEqual({ wire: "HTTP", url: `${origin}/rpc` });
  });

  test("over TCP and stdio", async () => {
    const [, port] = await demo.shown(/TCP +127\.0\.0\.1:(\d+)/);
    const expected = { batch: true, notificationsAnswered: false, discovery, limits, wires: [] };
    expect(await inspected(`tcp://127.0.0.1:${port}`)).toMatchObject(expected);
    const child = `stdio:${process.execPath} ${cli} demo --stdio`;
    expect(await inspected(child)).toMatchObject(expected);
  });

  test("a server of both versions", async () => {
    const found = await inspected(`${demo.origin}/jsonrpc`, "--quick");
    expect(found).toMatchObject({ versions: { "2.0": true, "1.0": true }, limits: null });
  });

  test("for people", async () => {
    const { code, stdout } = await finish(["inspect", `${demo.origin}/rpc`, ...patient]);
    expect(stdout).toMatch(/^ {2}Versions +2\.0$/m);
    expect(stdout).toMatch(/^ {2}Batch +yes, up to 100$/m);
    expect(stdout).toMatch(/^ {2}Longest message +up to 1 MiB$/m);
    expect(stdout).toMatch(/^\d+ messages; first reply after [\d.]+ ms$/m);
    expect(code).toBe(0);
  });
});

describe("limits", () => {
  test.each(["http", "tcp"])("other limits are found too, over %s", async (wire) => {
    const own = { maxBatch: 7, maxDepth: 21, maxMessageBytes: 100_000 };
    const server = createServer({ one: () => 1 }, { limits: own, discover: false });
    closers.push(() => server.close({ drainMs: 0 }));
    const url =
      wire === "http"
        ? (await serveHttp(server, { port: 0 })).url
        : `tcp://127.0.0.1:${(await serveSocket(server, { port: 0 })).port}`;
    const found = (await inspected(url)) as { limits: typeof limits; discovery: unknown };
    expect(found.discovery).toBeNull();
    expect(found.limits.batch).toEqual({ taken: 7, refused: 8 });
    expect(found.limits.depth).toEqual({ taken: 21, refused: 22 });
    const { taken, refused } = found.limits.messageBytes;
    expect(taken).toBeLessThanOrEqual(100_000);
    expect(refused).toBeGreaterThan(100_000);
    expect(refused - taken).toBeLessThan(10_000);
  });
});

describe("servers of other libraries", () => {
  test("one that answers notifications and knows no batch", async () => {
    const url = await httpServer((_, response) => {
      response.setHeader("content-type", "application/json");
      response.end('{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"},"id":null}');
    });
    const found = await inspected(url, "--quick");
    expect(found).toMatchObject({ batch: false, notificationsAnswered: true, discovery: null });
  });

  test.each(["null", "the id of nothing"])(
    "one that answers notifications with %s, over TCP",
    async (name) => {
      const stray = name === "null" ? null : "nothing";
      const tcp = createTcpServer((socket) => {
        const lines = createInterface(socket).on("line", (line) => {
          const { id = stray, method } = JSON.parse(line);
          const result = { openrpc: "1.3.2", info: { title: "Other", version: "1" }, methods: [] };
          const reply =
            method === "rpc.discover" ? { result } : { error: { code: -32601, message: "no" } };
          socket.write(`${JSON.stringify({ jsonrpc: "2.0", ...reply, id })}\n`);
        });
        // A client that has received enough disconnects.
        lines.on("error", () => {});
      });
      const found = await inspected(`tcp://${await addressOf(tcp)}`, "--quick");
      // The reply to the notification is not taken for the answer to the next request.
      expect(found).toMatchObject({ notificationsAnswered: true, discovery: { title: "Other" } });
    },
  );

  test("one that is dead", async () => {
    const { code, stderr } = await finish(["inspect", "http://127.0.0.1:1"]);
    expect(stderr).toMatch(/^callwire: http:\/\/127\.0\.0\.1:1 is not reachable: [^\n]+\n$/);
    expect(code).toBe(3);
  });

  test.each(["http", "tcp"])("one that is silent, over %s", async (wire) => {
    const url =
      wire === "http" ? await httpServer(() => {}) : `tcp://${await addressOf(createTcpServer())}`;
    const { code, stdout, stderr } = await finish(["inspect", url, "--json", "--timeout", "200ms"]);
    expect(stderr).toMatch(/accepts calls but did not reply within 0\.2 s/);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "TIMEOUT" } });
    expect(code).toBe(3);
  });

  test("one that hangs up", async () => {
    const url = `tcp://${await addressOf(createTcpServer((socket) => socket.destroy()))}`;
    const { code, stdout, stderr } = await finish(["inspect", url, "--json"]);
    expect(stderr).toMatch(/accepts connections but closes them/);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "CONNECTION_LOST" } });
    expect(code).toBe(3);
  });

  test.each([
    [404, "does not answer with JSON-RPC, but HTTP 404 text/html; check the path"],
    [200, "does not answer with JSON-RPC, but HTTP 200 text/html"],
    [401, "requires authorization (HTTP 401); try --bearer or -H"],
  ])("one that answers a page with %i", async (status, sentence) => {
    const url = await httpServer((_, response) => {
      response.writeHead(status, { "content-type": "text/html" }).end("<h1>Hello</h1>");
    });
    const { code, stderr } = await finish(["inspect", url, ...patient]);
    expect(stderr).toBe(`callwire: ${url} ${sentence}\n`);
    expect(code).toBe(1);
  });

  test("one that requires a credential", async () => {
    const preset = secureDefaults({
      credentials: bearer((token) => (token === "good" ? { id: "ada" } : undefined)),
      audit: () => {},
      maxLagMs: 60_000,
    });
    const server = createServer(
      { add: (a: number, b: number) => a + b },
      { ...preset, log: silentLog },
    );
    closers.push(() => server.close({ drainMs: 0 }));
    const { url } = await serveHttp(server, { port: 0 });
    const { port = 0 } = await serveSocket(server, { port: 0 });
    for (const verb of ["inspect", "conform"]) {
      const closed = await finish([verb, url, ...patient]);
      expect(closed.stderr).toBe(
        `callwire: ${url} requires authorization (HTTP 401); try --bearer or -H\n`,
      );
      expect(closed).toMatchObject({ code: 1, stdout: "" });
      const socket = await finish([verb, `tcp://127.0.0.1:${port}`, ...patient]);
      expect(socket.stderr).toBe(
        `callwire: tcp://127.0.0.1:${port} requires authorization (-32001 Unauthenticated)\n`,
      );
    }
    const ws = await finish(["inspect", url.replace("http", "ws"), ...patient]);
    expect(ws.stderr).toMatch(
      /^callwire: ws:\S+ requires authorization \(.*\); try --bearer or -H\n$/,
    );
    const known = await finish(["inspect", url, "--quick", "--bearer", "good", ...patient]);
    expect(known).toMatchObject({ code: 0, stderr: "" });
    const one = ["--bearer", "good", "--case", "core/result", ...patient];
    const run = await finish(["conform", url, ...one]);
    expect(run).toMatchObject({ code: 0, stderr: "" });
  });
});

test("a server that closes the connection is reported as one without a reply", async () => {
  const url = await httpServer(async (request, response) => {
    const body = await text(request);
    let payload: { id?: unknown };
    try {
      payload = JSON.parse(body);
    } catch {
      request.socket.destroy();
      return;
    }
    const error = { code: -32601, message: "Method not found" };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", error, id: payload.id ?? null }));
  });
  const { stdout } = await finish(["inspect", url, "--quick"]);
  expect(stdout).toMatch(/HTTP status .*, no reply for invalid JSON$/m);
  expect(stdout).not.toContain("null");
});

test("a server with one method has 1 method", async () => {
  const server = createServer({ only: () => 1 }, { log: silentLog });
  closers.push(() => server.close());
  const { url } = await serveHttp(server, { port: 0 });
  const { stdout } = await finish(["inspect", url, "--quick"]);
  expect(stdout).toMatch(/Discovery .*, 1 method$/m);
});
