/** Requests that are read from the socket, and requests that Node reads instead. */
import { AsyncLocalStorage } from "node:async_hooks";
import { channel } from "node:diagnostics_channel";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createNodeServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { connect as connectTls } from "node:tls";
import { createServer, type Middleware, method, silentLog, stream } from "callwire";
import { nodeHandler } from "callwire/http/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { root } from "../../entries.ts";
import { deferred } from "../contract/wire.ts";
import { add, post, RawClient, send, serve, sum } from "./wire.ts";

/** A method that waits, and one that replies at once. */
function waiting() {
  const begun = deferred();
  const release = deferred<string>();
  const ended = deferred();
  const wait = method({}, (_, { signal }) => {
    begun.resolve();
    signal.addEventListener("abort", () => ended.resolve());
    return release.promise;
  });
  return { methods: { wait, add: (a: number, b: number) => a + b }, begun, release, ended };
}

const wait = '{"jsonrpc":"2.0","method":"wait","id":7}';

/** Counts the requests that Node reads; a listener would turn the fast path off. */
function readByNode({ server }: { readonly server: Server }): { count: number } {
  const read = { count: 0 };
  const emit = server.emit.bind(server);
  server.emit = ((event: string, ...rest: never[]) => {
    if (event === "request" || event === "checkContinue" || event === "upgrade") read.count++;
    return emit(event, ...rest);
  }) as typeof server.emit;
  return read;
}

/** Including the headers that each request has. */
function headersUpTo(count: number): string {
  return Array.from({ length: count - 3 }, (_, i) => `X-${i}: 1\r\n`).join("");
}

const { methods } = waiting();

describe("which server reads a request", () => {
  test("plain requests are not read by Node, whatever their length is", async () => {
    const http = await serve({ size: (text: string) => text.length });
    const read = readByNode(http);
    const client = new RawClient(http.port);
    for (const [index, length] of [1, 10, 5_000, 3, 1].entries()) {
      const params = ["x".repeat(length)];
      client.write(post(JSON.stringify({ jsonrpc: "2.0", method: "size", params, id: index })));
      await client.until((text) => text.endsWith(`"result":${length},"id":${index}}`));
    }
    expect(read.count).toBe(0);
  });

  test.each([
    ["another header block", "X-Other: 1\r\n", 0],
    ["keep-alive", "Connection: Keep-Alive\r\n", 0],
    ["a header twice", "X-A: 1\r\nx-a: 2\r\n", 1],
    ["Expect", "Expect: 100-continue\r\n", 1],
    ["a header that is not ASCII", "X-A: ä\r\n", 1],
    ["64 headers", headersUpTo(64), 0],
    ["65 headers", headersUpTo(65), 1],
    ["8 KiB of headers", `X-Long: ${"x".repeat(8 * 1024)}\r\n`, 1],
    ["an offer of HTTP/2", "Connection: Upgrade\r\nUpgrade: h2c\r\n", 2],
  ])("a request with %s is answered, between others", async (_, headers, byNode) => {
    const http = await serve(methods);
    const read = readByNode(http);
    const client = new RawClient(http.port);
    client.write(post(add));
    await client.until((text) => text.endsWith(sum));
    client.write(Buffer.from(post(add, headers), "latin1"));
    await client.until((text) => text.split(sum).length === 3);
    expect(read.count).toBe(byNode);
    client.write(post(add));
    await client.until((text) => text.split(sum).length === 4);
    // Node keeps the requests that it got.
    expect(read.count).toBe(byNode === 0 ? 0 : byNode + 1);
  });

  test("the option turns it off", async () => {
    const http = await serve(methods, { fastPath: false });
    const read = readByNode(http);
    expect((await send(http.port, { body: add })).text).toBe(sum);
    expect(read.count).toBe(1);
  });

  test("handlers of other servers, and mounts, get what Node has read", async () => {
    const other = nodeHandler(createServer({ add: () => 7 }, { log: silentLog }));
    const mounting = await serve(methods, { mounts: { "/mount": other } });
    const read = readByNode(mounting);
    expect((await send(mounting.port, { path: "/mount", body: add })).text).toContain("7");
    expect(read.count).toBe(1);
    const plain = createNodeServer(other).listen(0);
    onTestFinished(() => void plain.close());
    await once(plain, "listening");
    const heard = readByNode({ server: plain });
    expect((await send((plain.address() as AddressInfo).port, { body: add })).text).toContain("7");
    expect(heard.count).toBe(1);
  });

  test("both paths send the same replies, refusals and headers", async () => {
    const ways = await Promise.all(
      [true, false].map((fastPath) => serve(methods, { fastPath, origins: ["https://a.example"] })),
    );
    const requests = [
      post(add),
      post(add, "Origin: https://a.example\r\n"),
      post(add, "Origin: https://evil.example\r\n"),
      post('{"jsonrpc":"2.0","method":"add","params":[1,2]}'),
      post('{"jsonrpc":"2.0","method":"none","id":"grüße"}'),
      post("[]"),
      post(add).replace("application/json", "text/plain"),
      post(add).replace("localhost", "evil.example"),
      post(add).replace("/rpc", "/none"),
      Buffer.from(post("xx").replace(/xx$/, "\xff\xff"), "latin1"),
    ];
    for (const request of requests) {
      const [fast, alone] = await Promise.all(
        ways.map(async ({ port }) => {
          const client = new RawClient(port);
          client.write(request);
          client.write(post(add, "Connection: close\r\n"));
          return (await client.all()).replaceAll(/Date: .*\r\n/g, "");
        }),
      );
      expect(fast).toBe(alone);
      expect(fast).toContain(sum);
    }
  });

  test("middleware sees the same headers, address and body", async () => {
    const seen: unknown[] = [];
    const look: Middleware = (next) => (request, context) => {
      const { headers, remoteAddress, http } = context.transport;
      seen.push({ headers, remoteAddress, http: { ...http, signReply: undefined } });
      return next(request, context);
    };
    for (const fastPath of [true, false]) {
      const http = await serve(methods, { fastPath, hosts: "any" }, { use: [look] });
      const client = new RawClient(http.port);
      client.write(post(add, "Authorization: Bearer x\r\nX-Mixed-Case:  padded \t\r\n"));
      await client.until((text) => text.endsWith(sum));
    }
    expect(seen).toHaveLength(2);
    expect(seen[0]).toEqual(seen[1]);
    expect(seen[0]).toMatchObject({
      headers: { "x-mixed-case": "padded", authorization: "Bearer x" },
      http: { method: "POST", target: "/rpc", body: add },
    });
  });
});

test.each([true, false])(
  "what a handler enters into a storage does not reach the next request (fastPath: %s)",
  async (fastPath) => {
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const enter = (name: string): void => {
      seen.push(storage.getStore());
      storage.enterWith(name);
    };
    const http = await serve({ enter }, { fastPath });
    const client = new RawClient(http.port);
    const call = (name: string) =>
      post(JSON.stringify({ jsonrpc: "2.0", method: "enter", params: [name], id: name }));
    client.write(call("a") + call("b"));
    await client.until((text) => text.includes('"id":"b"'));
    client.write(call("c"));
    await client.until((text) => text.includes('"id":"c"'));
    expect(seen).toEqual([undefined, undefined, undefined]);
  },
);

describe("events", () => {
  const events = "Accept: text/event-stream\r\n";
  const count = post('{"jsonrpc":"2.0","method":"count","id":1}', events);
  const eventsIn = (text: string): string[] => text.match(/(?<=^data: ).*/gm) ?? [];

  /** A stream of two items; the second one waits for `release` if `waits`. */
  async function counting(waits: boolean) {
    const release = deferred();
    const left = deferred();
    const http = await serve({
      ...methods,
      count: stream({}, async function* (_, { signal }) {
        signal.addEventListener("abort", () => left.resolve());
        yield "one";
        if (waits) await release.promise;
        yield "two";
      }),
    });
    return { http, read: readByNode(http), client: new RawClient(http.port), release, left };
  }

  test("that are complete at the end of their turn are one reply", async () => {
    const { read, client } = await counting(false);
    client.write(count);
    await client.until((text) => eventsIn(text).length === 3);
    client.write(post(add));
    const text = await client.until((came) => came.endsWith(sum));
    expect(read.count).toBe(0);
    const [head = "", body = ""] = text.split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\nContent-Type: text\/event-stream\r\n/);
    expect(head).toContain("cache-control: no-store");
    const length = Number(/Content-Length: (\d+)/.exec(head)?.[1]);
    expect(body.slice(length - 2)).toMatch(/^\n\nHTTP\/1\.1 200 OK/);
  });

  test("that take longer are sent by Node, from the first one on", async () => {
    const { read, client, release } = await counting(true);
    client.write(count);
    expect(eventsIn(await client.until((text) => eventsIn(text).length > 0))).toHaveLength(1);
    release.resolve();
    const text = await client.until((came) => came.endsWith("0\r\n\r\n"));
    expect(eventsIn(text).map((event) => JSON.parse(event).params?.value)).toEqual([
      "one",
      "two",
      undefined,
    ]);
    expect(read.count).toBe(1);
  });

  test("of one request are sent before the reply to the next one", async () => {
    const { client } = await counting(false);
    client.write(count + post(add));
    const text = await client.until((came) => came.endsWith(sum));
    expect(eventsIn(text)).toHaveLength(3);
  });

  test("that do not fit into one reply are sent by Node", async () => {
    const http = await serve({
      count: stream({}, async function* () {
        for (const letter of "abc") yield letter.repeat(40_000);
      }),
    });
    const read = readByNode(http);
    const client = new RawClient(http.port);
    client.write(count);
    const text = await client.until((came) => came.endsWith("0\r\n\r\n"));
    expect(["a", "b", "c"].map((letter) => text.split(letter.repeat(1_000)).length)).toEqual([
      41, 41, 41,
    ]);
    expect(read.count).toBe(1);
  });

  test("end with the call if the client disconnects", async () => {
    const { client, left } = await counting(true);
    client.write(count);
    await client.until((text) => eventsIn(text).length === 1);
    client.socket.destroy();
    await left.promise;
  });
});

describe("a call that Node has to finish", () => {
  test("a large reply, and events, keep the connection", async () => {
    const http = await serve({
      ...methods,
      large: () => "y".repeat(300_000),
      count: stream({}, async function* () {
        yield 1;
        yield 2;
      }),
    });
    for (const [name, headers, part] of [
      ["large", "", 'y","id":1}'],
      ["count", "Accept: text/event-stream\r\n", '"id":1}\n\n'],
    ] as const) {
      const client = new RawClient(http.port);
      client.write(post(add));
      await client.until((text) => text.endsWith(sum));
      client.write(post(`{"jsonrpc":"2.0","method":"${name}","id":1}`, headers));
      await client.until((text) => text.includes(part));
      client.write(post(add));
      await client.until((text) => text.split(sum).length === 3);
    }
  });

  test("what is sent while a call runs is answered after it", async () => {
    const { methods, begun, release } = waiting();
    const http = await serve(methods);
    const client = new RawClient(http.port);
    client.write(post(add) + post(wait) + post(add));
    await begun.promise;
    client.write(post(add, "X-A: 1\r\nX-A: 2\r\n"));
    release.resolve("done");
    const text = await client.until((came) => came.split(sum).length === 4);
    expect(text.match(/"result":[^,]*/g)).toEqual([
      '"result":5',
      '"result":"done"',
      '"result":5',
      '"result":5',
    ]);
  });

  test("a call ends when its client disconnects", async () => {
    for (const behind of ["", post(add)]) {
      const { methods, begun, ended } = waiting();
      const http = await serve(methods);
      const client = new RawClient(http.port);
      client.write(post(wait) + behind);
      await begun.promise;
      client.socket.destroy();
      await ended.promise;
    }
  });

  test("a listener for requests sees all later ones, also behind a running call", async () => {
    const { methods, begun, release } = waiting();
    const http = await serve(methods);
    const client = new RawClient(http.port);
    client.write(post(wait));
    await begun.promise;
    const urls: unknown[] = [];
    http.server.on("request", ({ url }) => urls.push(url));
    client.write(post(add));
    release.resolve("done");
    const text = await client.until((came) => came.endsWith(sum));
    expect(text).toContain('"result":"done"');
    expect((await send(http.port, { body: add })).text).toBe(sum);
    expect(urls).toEqual(["/rpc", "/rpc"]);
  });

  test("a tool that subscribes to Node's channel sees each request", async () => {
    const http = await serve(methods);
    let traced = 0;
    const count = (): void => {
      traced++;
    };
    const start = channel("http.server.request.start");
    start.subscribe(count);
    onTestFinished(() => void start.unsubscribe(count));
    expect((await send(http.port, { body: add })).text).toBe(sum);
    expect(traced).toBe(1);
  });
});

describe("time", () => {
  test("a body that does not arrive in time is refused", async () => {
    const http = await serve(methods, { requestTimeoutMs: 20, checkIntervalMs: 5 });
    const read = readByNode(http);
    const client = new RawClient(http.port);
    client.write(post(add).slice(0, -5));
    expect(await client.all()).toMatch(/^HTTP\/1\.1 408 /);
    expect(read.count).toBe(0);
  });

  test("a connection that sends nothing is refused, and one that is idle is closed", async () => {
    const settings = { headersTimeoutMs: 20, keepAliveTimeoutMs: 20, checkIntervalMs: 5 };
    const http = await serve(methods, settings);
    expect(await new RawClient(http.port).all()).toMatch(/^HTTP\/1\.1 408 /);
    const idle = new RawClient(http.port);
    idle.write(post(add));
    expect((await idle.all()).endsWith(sum)).toBe(true);
  });

  test("a call may take longer than a connection may be idle", async () => {
    const { methods, begun, release } = waiting();
    const http = await serve(methods, { keepAliveTimeoutMs: 5, checkIntervalMs: 1 });
    const client = new RawClient(http.port);
    client.write(post(wait));
    await begun.promise;
    // By then a connection without a call would have been closed.
    const idle = new RawClient(http.port);
    idle.write(post(add));
    await idle.all();
    release.resolve("done");
    await client.until((text) => text.includes('"result":"done"'));
  });

  test("a body in two parts is read, and the end of a client in between refused", async () => {
    const http = await serve(methods);
    const read = readByNode(http);
    const client = new RawClient(http.port);
    const head = post(add).slice(0, -add.length);
    const arrived = once(http.server, "connection").then(([socket]) => once(socket, "data"));
    client.write(head);
    await arrived;
    client.write(add);
    await client.until((text) => text.endsWith(sum));
    client.write(head);
    client.socket.end();
    expect(await client.all()).toContain("HTTP/1.1 400 ");
    expect(read.count).toBe(0);
  });
});

describe("closing", () => {
  test("closeIdleConnections closes only connections without a call", async () => {
    const { methods, begun, release } = waiting();
    const http = await serve(methods);
    const [idle, busy] = [new RawClient(http.port), new RawClient(http.port)];
    idle.write(post(add));
    await idle.until((text) => text.endsWith(sum));
    busy.write(post(wait));
    await begun.promise;
    http.server.closeIdleConnections();
    await idle.all();
    release.resolve("done");
    await busy.until((text) => text.includes('"result":"done"'));
    http.server.closeAllConnections();
    await busy.all();
  });

  test("Node's own close waits for a call and its connection, not for idle ones", async () => {
    const { methods, begun, release } = waiting();
    const http = await serve(methods);
    const [idle, busy] = [new RawClient(http.port), new RawClient(http.port)];
    idle.write(post(add));
    await idle.until((text) => text.endsWith(sum));
    busy.write(post(wait));
    await begun.promise;
    const closed = once(http.server, "close");
    http.server.close();
    await idle.all();
    release.resolve("done");
    await busy.until((text) => text.includes('"result":"done"'));
    busy.socket.end();
    await closed;
  });

  test("a request whose body arrives while the server closes is answered", async () => {
    const http = await serve(methods);
    const client = new RawClient(http.port);
    const rest = post(add).slice(-5);
    const arrived = once(http.server, "connection").then(([socket]) => once(socket, "data"));
    client.write(post(add).slice(0, -5));
    await arrived;
    const closing = http.close();
    client.write(rest);
    expect(await client.all()).toContain(sum);
    await closing;
  });
});

test("requests over TLS take it too", async () => {
  const fixture = (name: string): string =>
    readFileSync(`${root}test/fixtures/tls/test-only-${name}.pem`, "utf8");
  const cert = fixture("cert");
  const http = await serve(methods, { tls: { cert, key: fixture("key") } });
  const read = readByNode(http);
  const socket = connectTls({ port: http.port, host: "localhost", ca: cert });
  onTestFinished(() => void socket.destroy());
  socket.setEncoding("utf8");
  let text = "";
  const until = async (count: number): Promise<void> => {
    while (text.split(sum).length <= count) text += (await once(socket, "data"))[0];
  };
  socket.write(post(add));
  await until(1);
  socket.write(post(add) + post(add));
  await until(3);
  expect(read.count).toBe(0);
  socket.write(post(add, "X-A: 1\r\nX-A: 2\r\n"));
  await until(4);
  expect(read.count).toBe(1);
});
