/** Pipelined requests take memory until their turn comes, whatever they ask for. */
import { EventEmitter, once } from "node:events";
import type { ServerResponse } from "node:http";
import { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { method } from "callwire";
import { expect, test } from "vitest";
import { z } from "zod";
import { compressionJobs } from "../../src/http/node-codings.ts";
import { countRequest, inTurn } from "../../src/http/pipeline.ts";
import { UnreadChunks } from "../../src/http/unread-chunks.ts";
import { WireBuffers } from "../../src/protocol/memory-bounds.ts";
import { deferred } from "../transports/contract/wire.ts";
import { post, RawClient, serve } from "../transports/http/wire.ts";

const kibibyte = 1024;
const hold = post('{"jsonrpc":"2.0","method":"hold","id":1}');
/** More than fit into 200 KiB with what Node keeps of each. */
const manyHeaders = Array.from({ length: 900 }, (_, i) => `a${i}: b\r\n`).join("");

/** `more` bytes do not arrive. */
function upload(lines: string, more = 0): string {
  return (
    "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/jsonl\r\n" +
    `Content-Length: ${lines.length + more}\r\n\r\n${lines}`
  );
}

const take = '{"jsonrpc":"2.0","method":"take","id":2,"upload":true}\n';

const pages = (): string => "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(30);

test.each([
  ["first lines of uploads", upload(take.replace("take", "t".repeat(150 * kibibyte))).repeat(2)],
  ["headers", `GET /rpc HTTP/1.1\r\nHost: localhost\r\n${manyHeaders}\r\n`.repeat(2)],
  ["requests to other paths", pages()],
  ["requests to unknown paths", pages().replaceAll("page", "none")],
])("a connection whose %s take too much memory while a call runs is closed", async (_, rest) => {
  const { port } = await serve(
    { hold: () => new Promise(() => {}), take: method({ upload: z.number() }, () => 1) },
    { drainMs: 0, mounts: { "/page": () => {} } },
    { maxWireBytes: 200 * kibibyte },
  );
  const client = new RawClient(port);
  client.write(hold + rest);
  expect(await client.all()).not.toContain('"result"');
});

test("headers of requests that run count as well", async () => {
  const { port } = await serve(
    { hold: () => new Promise(() => {}) },
    { drainMs: 0 },
    { maxWireBytes: 200 * kibibyte },
  );
  const clients = [new RawClient(port), new RawClient(port)];
  for (const client of clients) client.write(hold.replace("Host", `${manyHeaders}Host`));
  expect(await Promise.race(clients.map((client) => client.all()))).toBe("");
});

test("compressed bodies are inflated one at a time for each connection", async () => {
  const held = deferred();
  const seen = deferred<number>();
  const { port } = await serve(
    { hold: () => held.promise, size: (text: string) => text.length },
    { mounts: { "/last": () => setImmediate(() => seen.resolve(compressionJobs.waiting)) } },
  );
  const client = new RawClient(port);
  const parts = [Buffer.from(hold)];
  for (let id = 2; id < 9; id++) {
    const params = `["${"a".repeat(500 * kibibyte)}"]`;
    const bomb = gzipSync(`{"jsonrpc":"2.0","method":"size","params":${params},"id":${id}}`);
    const head = post("", "Content-Encoding: gzip\r\n").replace("th: 0", `th: ${bomb.length}`);
    parts.push(Buffer.from(head), bomb);
  }
  parts.push(Buffer.from("GET /last HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  client.write(Buffer.concat(parts));
  expect(await seen.promise).toBe(0);
  held.resolve();
  expect(await client.until((text) => text.includes('"id":8'))).toContain('"result":512000,"id":2');
});

test("short lines of uploads count with what each takes", async () => {
  const { port } = await serve(
    { take: method({ upload: z.number() }, () => new Promise(() => {})) },
    { drainMs: 0 },
    { maxWireBytes: 200 * kibibyte },
  );
  const client = new RawClient(port);
  client.write(upload(take + "1\n".repeat(5000), 1));
  const reply = await client.until((text) => text.includes("}}"));
  expect(reply).toContain("HTTP/1.1 503 Service Unavailable");
  expect(JSON.parse(reply.slice(reply.indexOf("{")))).toMatchObject({
    error: { code: -32005, data: { ran: true, reason: "busy" } },
  });
});

test("a response that waits for its turn emits close when its client has left", async () => {
  const begun = deferred();
  const closed = deferred();
  const page = (_: unknown, response: ServerResponse): void => {
    response.once("close", () => closed.resolve());
    begun.resolve();
  };
  const { port } = await serve(
    { hold: () => new Promise(() => {}) },
    { drainMs: 0, mounts: { "/page": page } },
  );
  const client = new RawClient(port);
  client.write(hold + pages());
  await begun.promise;
  client.socket.destroy();
  await closed.promise;
});

test("short chunks of a file that waits are copied together", () => {
  const unread = new UnreadChunks();
  const long = new Uint8Array(64 * kibibyte).fill(1);
  for (let i = 0; i < 1000; i++) unread.push(long.subarray(i, i + 1));
  unread.push(long);
  unread.push(long.subarray(0, 2));
  expect(unread.length).toBe(1002 + long.length);
  const first = unread.shift();
  expect(first).toHaveLength(1000);
  expect(first?.buffer.byteLength).toBe(1000);
  expect(unread.shift()).toBe(long);
  expect(unread.shift()).toHaveLength(2);
  expect(unread.shift()).toBeUndefined();
  expect(unread.length).toBe(0);
});

test("what a request wanted is dropped when its client has left before its turn", async () => {
  const socket = new Socket();
  const response = Object.assign(new EventEmitter(), { socket: null, headersSent: false });
  let runs = 0;
  const run = (): void => void runs++;
  const buffers = new WireBuffers(1e6);
  countRequest({ socket } as never, response as never, buffers);
  inTurn({ socket } as never, response as never, buffers, run, 1_000);
  socket.destroy();
  await once(socket, "close");
  response.emit("socket");
  await Promise.resolve();
  expect(runs).toBe(0);
});
