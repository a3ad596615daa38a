/**
 * CVE-2025-53365: a client that leaves, or sends only half of something, brings the server down.
 */
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import { createServer, silentLog, stream } from "callwire";
import { serveHttp } from "callwire/http/node";
import { authenticate, bearer } from "callwire/security";
import { serveStdio } from "callwire/stdio";
import { serveSocket } from "callwire/tcp";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { send } from "../../transports/http/wire.ts";
import { RawSocket } from "../../transports/tcp/raw-socket.ts";

const unhandled: unknown[] = [];
const remember = (reason: unknown): void => void unhandled.push(reason);

beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", remember);
  process.on("uncaughtException", remember);
});

afterEach(() => {
  process.off("unhandledRejection", remember);
  process.off("uncaughtException", remember);
});

/** Asynchronous at every step, so that the client may be gone at each of them. */
function fragile() {
  const later = () => new Promise((resolve) => setImmediate(resolve));
  const tokens = bearer(async (token) => {
    await later();
    return { id: token };
  });
  const methods = {
    slow: async (value: unknown) => {
      await later();
      return value;
    },
    count: stream({}, async function* () {
      for (let i = 0; i < 5; i++) {
        await later();
        yield i;
      }
    }),
  };
  const use = [authenticate(tokens, { anonymous: true })];
  const server = createServer(methods, { use, log: silentLog });
  onTestFinished(() => server.close({ drainMs: 0 }));
  return server;
}

/** Sends the first bytes of something, and resets the connection. */
function cutAfter(port: number, bytes: Buffer, length: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    socket.on("connect", () => {
      socket.write(bytes.subarray(0, length), () => socket.resetAndDestroy());
    });
  });
}

const call = '{"jsonrpc":"2.0","method":"slow","params":["ünicode"],"id":1}';
const counting = '{"jsonrpc":"2.0","method":"count","id":1}';

function postOf(body: string, accept: string): Buffer {
  return Buffer.from(
    "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
      `Authorization: Bearer a\r\nAccept: ${accept}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

const handshake = Buffer.concat([
  Buffer.from(
    "GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  ),
  // A masked text frame whose mask is zero.
  Buffer.from([0x81, 0x80 | Buffer.byteLength(counting), 0, 0, 0, 0]),
  Buffer.from(counting),
]);

test.each([
  ["a call over HTTP", postOf(call, "application/json")],
  ["a stream over HTTP", postOf(counting, "text/event-stream")],
  ["a WebSocket", handshake],
])("%s may be cut at every byte", async (_, bytes) => {
  const { port } = await serveHttp(fragile(), { port: 0 });
  for (let from = 0; from <= bytes.length; from += 50) {
    const lengths = Array.from({ length: 50 }, (_, i) => from + i).filter(
      (length) => length <= bytes.length,
    );
    await Promise.all(lengths.map((length) => cutAfter(port, bytes, length)));
  }
  expect((await send(port, { body: call })).text).toContain("ünicode");
  expect(unhandled).toEqual([]);
});

test("a call over TCP may be cut at every byte", async () => {
  const { port = 0 } = await serveSocket(fragile(), { port: 0 });
  const bytes = Buffer.from(`${call}\n${counting}\n`);
  await Promise.all(
    Array.from({ length: bytes.length + 1 }, (_, length) => cutAfter(port, bytes, length)),
  );
  expect((await new RawSocket({ port }).send(`${call}\n`).lines(1))[0]).toContain("ünicode");
  expect(unhandled).toEqual([]);
});

test("a call over stdio may end at every byte", async () => {
  const server = fragile();
  const bytes = Buffer.from(`${call}\n`);
  for (let length = 0; length <= bytes.length; length++) {
    const input = new PassThrough();
    const output = new PassThrough();
    output.resume();
    input.end(bytes.subarray(0, length));
    await serveStdio(server, { input, output }).closed;
  }
  expect(unhandled).toEqual([]);
});
