/** Bytes beside messages, and requests that wait, take memory that the limits of a server must count. */
import { EventEmitter, once } from "node:events";
import { openAsBlob } from "node:fs";
import type { IncomingMessage } from "node:http";
import { connect, Socket } from "node:net";
import { createClient, createServer, silentLog } from "callwire";
import { fetchHandler, httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { FakeClock } from "callwire/testing";
import { webSocketLink } from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { BodyBytes } from "../../src/http/body-bytes.ts";
import { countRequest, inTurn } from "../../src/http/pipeline.ts";
import { countedBytes } from "../../src/protocol/attachments.ts";
import { WireBuffers } from "../../src/protocol/memory-bounds.ts";
import { ReceivedBytes } from "../../src/protocol/received-bytes.ts";
import { SentBytes } from "../../src/protocol/sent-bytes.ts";
import { collect } from "../heap.ts";
import { deferred } from "../transports/contract/wire.ts";
import { add, post, RawClient, send, serve } from "../transports/http/wire.ts";

const kibibyte = 1024;
const boundary = "between";

const start =
  "POST /rpc HTTP/1.1\r\nHost: localhost\r\nRpc-Attachments: 1\r\n" +
  `Content-Type: multipart/form-data; boundary=${boundary}\r\nTransfer-Encoding: chunked\r\n\r\n`;

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const part = (text: string): string => `--${boundary}\r\n\r\n${text}`;

function call(method: string, params: string, types: string): string {
  return `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params},"types":${types}}`;
}

test("bytes in params count as memory of their call, whatever its method expects", async () => {
  const { port } = await serve(
    { echo: (x: unknown) => x },
    {},
    { maxRunningBytes: 100 * kibibyte },
  );
  const client = new RawClient(port);
  client.write(start);
  client.write(chunk(part(call("echo", '[{"part":1}]', '{"bytes":["/0"]}'))));
  client.write(chunk(`\r\n${part("x".repeat(200 * kibibyte))}`));
  const answer = await client.until((text) => text.includes('"id":1'));
  expect(answer).toContain('"code":-32005');
  expect(answer).toContain('"ran":false');
});

test("bytes in params no longer count when their call is done", async () => {
  const { url } = await serve({ size: (x: Uint8Array) => x.length }, {}, { maxRunningBytes: 1e6 });
  const link = webSocketLink(`${url.replace("http", "ws")}/ws`);
  const client = createClient(link, { values: "rich" });
  onTestFinished(() => client.close());
  for (let i = 0; i < 8; i++) {
    expect(await client.call("size", [new Uint8Array(400 * kibibyte)])).toBe(400 * kibibyte);
  }
});

test("the message of a multipart request is refused if all that arrive take too much memory", async () => {
  const { port } = await serve({ add: () => 5 }, {}, { maxWireBytes: 120 * kibibyte });
  const clients = [new RawClient(port), new RawClient(port)];
  const refused = Promise.race(clients.map((client) => client.until((text) => text !== "")));
  for (const client of clients) client.write(start + chunk(part("x".repeat(100 * kibibyte))));
  expect(await refused).toContain("HTTP/1.1 503 Service Unavailable");
});

test("files that wait until an earlier one is read count as buffered", async () => {
  const failed = deferred<unknown>();
  const second = (_: Blob, later: Blob): Promise<void> =>
    later.text().then(() => {}, failed.resolve);
  const { port } = await serve({ second }, {}, { maxWireBytes: 100 * kibibyte });
  const client = new RawClient(port);
  const files = '[{"part":1,"size":300000},{"part":2,"size":1}]';
  client.write(start + chunk(part(call("second", files, '{"blob":["/0","/1"]}'))));
  client.write(chunk(`\r\n${part("x".repeat(200 * kibibyte))}`));
  expect(await failed.promise).toMatchObject({ code: -32005 });
});

test.each([
  ["message of a multipart request", start + chunk(part('{"jsonrpc"'))],
  [
    "first line of an upload",
    start.replace(/multipart[^\r]*/, "application/jsonl") + chunk('{"jsonrpc"'),
  ],
])("the %s has to arrive within the time for a request", async (_, begun) => {
  const { port } = await serve({}, { requestTimeoutMs: 50, checkIntervalMs: 10 });
  const client = new RawClient(port);
  client.write(begun);
  expect(await client.all()).toContain("HTTP/1.1 408 Request Timeout");
});

test("pipelined requests count with what Node keeps of each", async () => {
  const server = createServer(
    { wait: () => new Promise(() => {}) },
    { maxWireBytes: 200 * kibibyte, log: silentLog },
  );
  const http = await serveHttp(server, { port: 0, drainMs: 0 });
  onTestFinished(() => http.close());
  const closed = deferred();
  const socket = connect(http.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.on("close", () => closed.resolve());
  const wait = post('{"jsonrpc":"2.0","method":"wait","id":1}');
  socket.write(wait + post(add).repeat(100));
  await closed.promise;
});

test("pipelined requests of connections that were closed count until the end of the turn", () => {
  const buffers = new WireBuffers(64 * kibibyte);
  const pipelined = (count: number): Socket => {
    const socket = new Socket();
    for (let i = 0; i < count; i++) {
      const response = Object.assign(new EventEmitter(), { socket: null, headersSent: false });
      countRequest({ socket } as never, response as never, buffers);
      inTurn({ socket } as never, response as never, buffers, () => {});
    }
    return socket;
  };
  // 8 KiB each.
  expect(pipelined(10).destroyed).toBe(true);
  expect(pipelined(8).destroyed).toBe(false);
  expect(pipelined(1).destroyed).toBe(true);
});

test("a body that was read does not keep its chunk", async () => {
  const limits = { buffers: new WireBuffers(1e6), maxMessageBytes: 1e6 };
  const body = new BodyBytes(limits as never, () => {});
  let whole: Buffer | undefined = Buffer.alloc(64 * kibibyte, "1");
  const kept = new WeakRef(whole.buffer);
  body.add(whole.subarray(0, 10), true);
  whole = undefined;
  expect(body.takeText()).toBe("1111111111");
  // A WeakRef keeps its target until the end of the job that made it.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(kept.deref()).toBeUndefined();
  expect(body.bufferedBytes).toBe(10);
});

test("bytes of a result count while they are read into its message", async () => {
  const download = () => new Blob(["x".repeat(200 * kibibyte)]).stream();
  const { port } = await serve({ download }, {}, { maxRunningBytes: 100 * kibibyte });
  const body = '{"jsonrpc":"2.0","id":1,"method":"download","types":{}}';
  const { text } = await send(port, { body });
  expect(JSON.parse(text)).toMatchObject({ error: { code: -32005, data: { ran: true } } });
});

test("all bytes of a reply together have the limit of the link", async () => {
  const values = () => Array.from({ length: 8 }, () => new Uint8Array(30 * kibibyte));
  const { url } = await serve({ values });
  const wide = createClient(httpLink(url), { values: "rich" });
  onTestFinished(() => wide.close());
  expect(await wide.call("values")).toHaveLength(8);
  const narrow = createClient(httpLink(url, { maxReplyBytes: 100 * kibibyte }), { values: "rich" });
  onTestFinished(() => narrow.close());
  await expect(narrow.call("values")).rejects.toBeInstanceOf(Error);
});

const inMemory = [
  ["Uint8Array", (length: number) => new Uint8Array(length)],
  ["Blob", (length: number) => new Blob([new Uint8Array(length)])],
  ["File", (length: number) => new File([new Uint8Array(length)], "a")],
] as const;

test.each(inMemory)("a %s that nobody reads counts as buffered on a connection", async (_, of) => {
  const { url } = await serve(
    { bytes: () => of(150 * kibibyte) },
    {},
    { maxWireBytes: 200 * kibibyte },
  );
  const ws = new WebSocket(`${url.replace("http", "ws")}/ws`);
  const closed = once(ws, "close");
  await once(ws, "open");
  ws.send('{"jsonrpc":"2.0","method":"$/acceptsBytes","params":{"maxFrameBytes":65536},"id":1}');
  await once(ws, "message");
  for (let id = 2; id < 4; id++)
    ws.send(`{"jsonrpc":"2.0","method":"bytes","types":{},"id":${id}}`);
  await closed;
});

test.each(inMemory)("a %s that nobody reads counts as buffered over HTTP", async (_, of) => {
  const { port, server } = await serve(
    // More than the operating system buffers.
    { bytes: () => of(48 * kibibyte * kibibyte) },
    { writeTimeoutMs: 0 },
    { maxWireBytes: kibibyte * kibibyte },
  );
  const client = new RawClient(port);
  client.socket.pause();
  const accept = "Accept: application/json, multipart/form-data\r\n";
  const [[request]] = await Promise.all([
    once(server, "request") as Promise<[IncomingMessage]>,
    client.write(post('{"jsonrpc":"2.0","method":"bytes","types":{},"id":1}', accept)),
  ]);
  await once(request.socket, "close");
});

test("files and Blobs that still arrive do not count, because they are read while they are sent", async () => {
  const held = (value: Blob) => {
    const sent = new SentBytes();
    sent.add(value);
    return countedBytes(sent);
  };
  expect(held(await openAsBlob(import.meta.filename))).toBe(0);
  expect(held(Object.assign(new Blob(["a file of Bun"]), { name: "/a" }))).toBe(0);
  const open = () => new Blob(["bytes"]).stream();
  const arriving = new ReceivedBytes({ open, discard: () => {} }, 10);
  expect(held(arriving.value("blob", { part: 1, size: 5 }) as Blob)).toBe(0);
  expect(held(new Blob(["bytes"]))).toBe(5);
});

describe("replies behind fetch that nobody reads", () => {
  const length = 150 * kibibyte;
  const methods = {
    text: () => "x".repeat(length),
    bytes: () => new Uint8Array(length),
    blob: () => new Blob([new Uint8Array(length)]),
  };
  const kinds = ["text", "bytes", "blob"];

  function asking(options?: Parameters<typeof fetchHandler>[1]) {
    const server = createServer(methods, { maxWireBytes: 200 * kibibyte, log: silentLog });
    const handler = fetchHandler(server, options);
    return (name: string, init: RequestInit = {}): Promise<Response> => {
      const types = name === "text" ? "" : ',"types":{}';
      const accept = "application/json, multipart/form-data";
      const headers = { "content-type": "application/json", accept, ...init.headers };
      const body = `{"jsonrpc":"2.0","method":"${name}"${types},"id":1}`;
      return handler(
        new Request("http://localhost/rpc", { ...init, method: "POST", headers, body }),
      );
    };
  }

  test.each(kinds)("count until they are read: %s", async (name) => {
    const ask = asking();
    for (let i = 0; i < 3; i++) {
      const response = await ask(name);
      const whole = await response.arrayBuffer();
      expect(whole.byteLength).toBeGreaterThan(length);
      expect(response.headers.get("content-length")).toBe(`${whole.byteLength}`);
    }
    const [first, second] = [await ask(name), await ask(name)];
    await expect(first.arrayBuffer()).rejects.toThrow("the client does not read its reply");
    expect((await second.arrayBuffer()).byteLength).toBeGreaterThan(length);
  });

  test("count while they wait to be compressed", async () => {
    const ask = asking();
    const headers = { "accept-encoding": "gzip" };
    const [first] = [await ask("text", { headers }), await ask("text", { headers })];
    expect(first.headers.get("content-encoding")).toBe("gzip");
    await expect(first.arrayBuffer()).rejects.toThrow("the client does not read its reply");
  });

  test.each(kinds)("no longer count when the client has left: %s", async (name) => {
    const ask = asking();
    const leaving = new AbortController();
    const left = await ask(name, { signal: leaving.signal });
    leaving.abort();
    await expect(left.arrayBuffer()).rejects.toThrow();
    await (await ask(name)).body?.cancel();
    expect((await (await ask(name)).arrayBuffer()).byteLength).toBeGreaterThan(length);
  });

  test.each(kinds)("are cut after the time for a client that reads nothing: %s", async (name) => {
    const clock = new FakeClock();
    const ask = asking({ clock, writeTimeoutMs: 5_000 });
    const reader = (await ask(name)).body?.getReader();
    // A client that reads, however slowly, is not disconnected.
    for (let i = 0; i < 2; i++) {
      clock.advance(3_000);
      expect((await reader?.read())?.done).toBe(false);
    }
    clock.advance(5_000);
    await expect(reader?.read()).rejects.toThrow("the client does not read its reply");
  });
});

test("a body behind fetch whose rest never comes is refused", async () => {
  const server = createServer({}, { maxWireBytes: 100 * kibibyte, log: silentLog });
  const handler = fetchHandler(server);
  const begun = new Uint8Array(90 * kibibyte);
  const ask = (): Promise<Response> => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(begun) });
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body, duplex: "half" } as const;
    return handler(new Request("http://localhost/rpc", init));
  };
  const { status } = await Promise.race([ask(), ask()]);
  expect(status).toBe(503);
});
