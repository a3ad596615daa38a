/** An address that is nearly right: the command finds out what to try instead. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isFull } from "../full.ts";
import {
  build,
  type Exit,
  finish as finishIn,
  inSlowTime,
  type Process,
  start,
  startDemo,
} from "./process.ts";

/** Suggestions are looked for within two seconds, in which the server may get no CPU time. */
const finish = (args: readonly string[]): Promise<Exit> => finishIn(args, inSlowTime);

let demo: Process & { readonly origin: string };
let ws: string;

beforeAll(async () => {
  await build();
  demo = await startDemo();
  ws = demo.origin.replace("http", "ws");
});

afterAll(() => demo?.[Symbol.asyncDispose]());

/** `inspect` and `conform` open connections of their own; the others connect as `call` does. */
const connecting = ["call", "inspect", "conform", ...(isFull ? ["stream", "bench"] : [])];

/** Verbs that find the path as `call` does. */
const otherVerbs: [string[], string, number][] = [
  [["call", "http:///metrics", "add", "2", "3"], "405", 1],
  [["stream", "http:///wrong", "math/count", "to=3"], "404", 1],
  [["notify", "http:///wrong", "notify_log"], "404", 1],
  [["bench", "http:///wrong", "add", "2", "3", "-n", "10"], "404", 1],
  [["discover", "http:///wrong"], "404", 1],
  [["generate", "http:///wrong"], "404", 1],
  [["repl", "http:///wrong"], "404", 1],
];

describe("a path that does not take calls", () => {
  test.each<[string[], string, number]>([
    [["call", "http:///", "add", "2", "3"], "405", 1],
    [["call", "http:///wrong", "add", "2", "3"], "404", 1],
    [["audit", "http:///wrong"], "404", 1],
    [["audit", "ws:///wrong"], "404", 3],
    [["call", "ws:///wrong", "add", "2", "3"], "404", 3],
    ...(isFull ? otherVerbs : []),
  ])("callwire %j", async ([verb = "", address = "", ...rest], status, exitCode) => {
    const [scheme = ""] = address.split(":");
    const origin = scheme === "ws" ? ws : demo.origin;
    const url = address.replace(/^\w+:\/\//, origin);
    const { code, stdout, stderr } = await finish([verb, url, ...rest]);
    const told = `no JSON-RPC endpoint at this path (HTTP ${status}); try ${origin}/rpc`;
    expect(stderr).toBe(`callwire: ${url}: ${told}\n`);
    expect(stdout).toBe("");
    expect(code).toBe(exitCode);
  });

  test("callwire batch", async () => {
    await using running = start(["batch", `${demo.origin}/wrong`, "-"], inSlowTime);
    running.child.stdin?.end("add 1 2\n");
    const { code, stderr } = await running.exited;
    expect(stderr).toMatch(/no JSON-RPC endpoint at this path \(HTTP 404\); try http/);
    expect(code).toBe(1);
  });

  test("is not reported for a WebSocket that was accepted, whatever the server sends then", async () => {
    const deep = `{"a":${"[".repeat(100)}${"]".repeat(100)}}`;
    const { code, stderr } = await finish(["call", `${ws}/rpc/ws`, "add", deep]);
    expect(stderr).toMatch(/nested deeper than 64 levels/);
    expect(stderr).not.toContain("path");
    expect(code).toBe(1);
  });

  test("suggests a path to check if none is found", async () => {
    await using other = await listening(
      createHttpServer((_, response) => response.writeHead(404).end("<h1>Not here</h1>")),
    );
    const { code, stderr } = await finish(["call", `${other.url}/rpc`, "add"]);
    expect(stderr).toMatch(/\(HTTP 404\); check the path\n$/);
    expect(code).toBe(1);
  });

  test("is not a server that answers 404 for an unknown method", async () => {
    await using other = await listening(
      createHttpServer((request, response) => {
        const error = { code: -32601, message: "Method not found" };
        const reply = JSON.stringify({ jsonrpc: "2.0", error, id: 1 });
        const type = { "content-type": "application/json" };
        request.resume().on("end", () => response.writeHead(404, type).end(reply));
      }),
    );
    const { code, stderr } = await finish(["call", other.url, "add"]);
    expect(stderr).toBe("callwire: add answered -32601 Method not found\n");
    expect(code).toBe(1);
    expect((await finish(["inspect", other.url, "--quick"])).code).toBe(0);
  });
});

describe("TLS to a port without it", () => {
  test.each(connecting)("callwire %s", async (verb) => {
    const url = `${demo.origin.replace("http", "https")}/rpc`;
    const method = verb === "inspect" || verb === "conform" ? [] : ["add"];
    const { code, stderr } = await finish([verb, url, ...method]);
    const told = `the port serves plain HTTP; try ${demo.origin}/rpc`;
    expect(stderr).toBe(`callwire: ${url}: ${told}\n`);
    expect(code).toBe(3);
  });

  test("is found out without sending the token in plain text", async () => {
    const tokens: unknown[] = [];
    const plain = createHttpServer((request, response) => {
      tokens.push(request.headers.authorization);
      response.end("{}");
    });
    await using other = await listening(plain);
    const url = other.url.replace("http", "https");
    const { stderr } = await finish(["call", url, "add", "--bearer", "secret"]);
    expect(stderr).toContain("the port serves plain HTTP");
    expect(tokens).toEqual([undefined]);
  });

  test("a WebSocket, and a socket", async () => {
    const secure = `${ws.replace("ws", "wss")}/rpc`;
    const { stderr } = await finish(["call", secure, "add"]);
    expect(stderr).toBe(`callwire: ${secure}: the port serves plain HTTP; try ${ws}/rpc\n`);
    const tcp = createTcpServer((socket) =>
      socket
        .on("error", () => {})
        .resume()
        .end("hello\n"),
    );
    await using other = await listening(tcp as unknown as Server);
    const tls = other.url.replace("http", "tls");
    const socket = await finish(["call", tls, "add"]);
    expect(socket.stderr).toBe(
      `callwire: ${tls}: the port does not use TLS; try ${other.url.replace("http", "tcp")}\n`,
    );
  });
});

describe("another protocol", () => {
  test("a socket to a port that speaks HTTP", async () => {
    const url = demo.origin.replace("http", "tcp");
    const { code, stderr } = await finish(["call", url, "add", "2", "3"]);
    const told = `the port speaks HTTP; try ${demo.origin}/rpc`;
    expect(stderr).toBe(`callwire: ${url}: ${told}\n`);
    expect(code).toBe(3);
  });

  test("a WebSocket to a port that does not", async () => {
    const lines = createTcpServer((socket) => {
      socket.on("error", () => {}).once("data", () => socket.end("hello\n"));
    });
    await using other = await listening(lines as unknown as Server);
    const url = other.url.replace("http", "ws");
    const { code, stderr } = await finish(["call", url, "add"]);
    const told = `the server does not speak HTTP; try ${other.url.replace("http", "tcp")}`;
    expect(stderr).toBe(`callwire: ${url}: ${told}\n`);
    expect(code).toBe(3);
  });
});

test.each(connecting)("no TLS to a port with it: callwire %s", async (verb) => {
  const pem = (name: string): string =>
    readFileSync(new URL(`../fixtures/tls/test-only-${name}.pem`, import.meta.url), "utf8");
  const secured = createHttpsServer({ key: pem("key"), cert: pem("cert") });
  await using other = await listening(secured as unknown as Server);
  const method = verb === "inspect" || verb === "conform" ? [] : ["add"];
  for (const [plain, secure] of [
    ["http", "https"],
    ["ws", "wss"],
    ["tcp", "tls"],
  ] as const) {
    const url = other.url.replace("http", plain);
    const { code, stderr } = await finish([verb, url, ...method]);
    const right = other.url.replace("http", secure);
    expect(stderr).toBe(`callwire: ${url}: the port uses TLS; try ${right}\n`);
    expect(code).toBe(3);
  }
});

describe("a method that is nearly right", () => {
  test.each([
    ["math/ad", "math/add"],
    ["mth/sqrt", "math/sqrt"],
    ["add_stream", "math/add_stream"],
    ["Math.Add", "math/add"],
  ])("%s", async (name, meant) => {
    const { code, stderr } = await finish(["call", `${demo.origin}/rpc`, name, "1", "2"]);
    const question = `did you mean "${meant}"?`;
    expect(stderr).toBe(`callwire: ${name} answered -32601 Method not found; ${question}\n`);
    expect(code).toBe(1);
  });

  test("a name unlike all others gets no suggestion, and the server's message is unchanged", async () => {
    const rpc = `${demo.origin}/rpc`;
    const { stderr } = await finish(["call", rpc, "something/else"]);
    expect(stderr).toBe("callwire: something/else answered -32601 Method not found\n");
    const { stdout } = await finish(["call", rpc, "math/ad", "--json"]);
    expect(stdout).toBe('{"error":{"code":-32601,"message":"Method not found"}}\n');
  });
});

async function listening(server: Server): Promise<AsyncDisposable & { readonly url: string }> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  return { url, [Symbol.asyncDispose]: close };
}
