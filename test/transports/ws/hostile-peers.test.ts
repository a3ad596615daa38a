import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { createServer, type Limits, silentLog } from "callwire";
import type { Channel } from "callwire/connection";
import { FakeClock } from "callwire/testing";
import { connectWebSocket, wsUpgrade } from "callwire/ws";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { textFrames } from "../../../src/transports/ws/frames.ts";
import { acceptingServer, FrameReader, frame, heard, until, upgraded } from "./bare-socket.ts";
import { rawClient, type Served, serve, turn } from "./serving.ts";

const methods = { echo: (value: unknown) => value, length: (value: string) => value.length };
const echo = '{"jsonrpc":"2.0","method":"echo","params":["hi"],"id":1}';

const text = 0x01;
const more = 0x00;
const last = 0x80;
const ping = 0x89;
const pong = 0x8a;

interface Settings {
  readonly limits?: Partial<Limits>;
  readonly clock?: FakeClock;
}

/** A peer that knows the protocol and breaks it. */
class Attacker {
  readonly #socket: Socket;
  readonly #reader: FrameReader;
  readonly masked: boolean;

  constructor(socket: Socket, masked: boolean) {
    this.#socket = socket;
    this.#reader = new FrameReader(socket);
    this.masked = masked;
  }

  get closed(): Promise<number | undefined> {
    return this.#reader.closed;
  }

  frame(kind: number, payload: string): Buffer {
    return frame(kind, payload, this.masked);
  }

  frames(count: number, kind: number, payload: string): Buffer {
    return Buffer.concat(Array<Buffer>(count).fill(this.frame(kind, payload)));
  }

  send(...frames: Buffer[]): void {
    this.#socket.write(Buffer.concat(frames));
  }

  /** Resolves when the peer has read all that was sent. */
  async sendAndAwait(...frames: Buffer[]): Promise<void> {
    const answered = this.#reader.frame(pong);
    this.send(...frames, this.frame(ping, "read"));
    expect(await answered).toBe("read");
  }

  pinged(): Promise<string> {
    return this.#reader.frame(ping);
  }
}

const sides: [string, (settings?: Settings) => Promise<Attacker>][] = [
  [
    "server",
    async ({ limits = {}, clock } = {}) => {
      const { port } = await serve(methods, { clock, server: { limits } });
      return new Attacker(await upgraded(port), true);
    },
  ],
  [
    "client",
    async ({ limits = {}, clock } = {}) => {
      const { url, accepted } = await acceptingServer();
      const connection = await connectWebSocket(url, { limits, clock });
      // Not awaited: there is no answer.
      onTestFinished(() => void connection.close());
      return new Attacker(await accepted, false);
    },
  ],
];

describe.each(sides)("a %s", (_, attack) => {
  test("closes with 1008 for pongs between the fragments of a message", async () => {
    const peer = await attack();
    peer.send(peer.frame(text, "["), peer.frames(600, pong, "x".repeat(125)));
    expect(await peer.closed).toBe(1008);
  });

  test("takes as many pongs between messages", async () => {
    const peer = await attack();
    const pongs = peer.frames(600, pong, "x".repeat(125));
    const message = [peer.frame(text, "["), peer.frame(pong, ""), peer.frame(last, "]")];
    await peer.sendAndAwait(pongs, ...message, pongs);
  });

  test.each(["", " "])("closes with 1008 for too many fragments of %j", async (fragment) => {
    const peer = await attack({ limits: { maxMessageBytes: 1000, maxReplyLength: 300 } });
    await peer.sendAndAwait(peer.frame(text, "["), peer.frames(63, more, fragment));
    peer.send(peer.frame(more, fragment));
    expect(await peer.closed).toBe(1008);
  });

  test("closes with 1009 for a frame of 8 GiB, whatever the limit", async () => {
    const huge = 2 ** 40;
    const peer = await attack({ limits: { maxMessageBytes: huge, maxReplyLength: huge } });
    peer.send(Buffer.from([0x81, (peer.masked ? 0x80 : 0) | 127, 0, 0, 0, 2, 0, 0, 0, 0]));
    expect(await peer.closed).toBe(1009);
  });

  test.each([
    ["a mask of the other side", (masked: boolean) => frame(0x81, "[]", !masked)],
    ["compression that was not offered", (masked: boolean) => frame(0xc1, "[]", masked)],
    ["a long control frame", (masked: boolean) => frame(ping, "x".repeat(126), masked)],
  ])("closes with 1002 for %s", async (_, broken) => {
    const peer = await attack();
    peer.send(broken(peer.masked));
    expect(await peer.closed).toBe(1002);
  });

  test("closes when a message stays open, although its pings are answered", async () => {
    const clock = new FakeClock();
    const peer = await attack({ clock });
    await peer.sendAndAwait(peer.frame(text, "["));
    const asked = peer.pinged();
    clock.advance(30_000);
    await peer.sendAndAwait(peer.frame(pong, await asked));
    clock.advance(10_000);
    expect(await peer.closed).toBe(1008);
  });

  test("ignores a pong that does not answer its ping", async () => {
    const clock = new FakeClock();
    const peer = await attack({ clock });
    const asked = peer.pinged();
    clock.advance(30_000);
    await asked;
    await peer.sendAndAwait(peer.frame(pong, ""), peer.frame(pong, "anything"));
    clock.advance(10_000);
    expect(await peer.closed).toBeUndefined();
  });

  test("accepts the answer to its ping, but only once", async () => {
    const clock = new FakeClock();
    const peer = await attack({ clock });
    const asked = peer.pinged();
    clock.advance(30_000);
    const answer = peer.frame(pong, await asked);
    await peer.sendAndAwait(answer);
    const again = peer.pinged();
    clock.advance(30_000);
    await again;
    await peer.sendAndAwait(answer);
    clock.advance(10_000);
    expect(await peer.closed).toBeUndefined();
  });
});

test("a channel knows how much of a message waits for its end", async () => {
  const { url, accepted } = await acceptingServer();
  let own: Channel | undefined;
  const arrived: number[] = [];
  const connection = await connectWebSocket(url, {
    wrapChannel(channel) {
      const listen = channel.listen.bind(channel);
      channel.listen = (listener) => {
        listener.arriving = (bytes) => arrived.push(bytes);
        listen(listener);
      };
      own = channel;
      return channel;
    },
  });
  onTestFinished(() => void connection.close());
  const peer = new Attacker(await accepted, false);
  await peer.sendAndAwait();
  await peer.sendAndAwait(peer.frame(text, "["), peer.frame(more, " ".repeat(1000)));
  expect(arrived).not.toEqual([]);
  expect(own?.arrivingBytes).toBe(arrived.reduce((sum, bytes) => sum + bytes));
  await peer.sendAndAwait(peer.frame(last, "]"));
  expect(own?.arrivingBytes).toBe(0);
});

test("a message of 1 MiB may come in fragments of 1 KiB, as geth sends them", async () => {
  const { url } = await serve(methods);
  const { ws, inbox } = await rawClient(url);
  const call = `{"jsonrpc":"2.0","method":"length","params":["${"x".repeat(1024 * 1023)}"],"id":1}`;
  for (let at = 0; at < call.length; at += 1024) {
    ws.send(call.slice(at, at + 1024), { fin: at + 1024 >= call.length });
  }
  expect(await inbox.message()).toMatchObject({ result: 1024 * 1023 });
});

test("a frame in very many chunks closes with 1008", async () => {
  const written: Buffer[] = [];
  const wire = new Duplex({
    read() {},
    write(chunk: Buffer, _, done) {
      written.push(chunk);
      done();
    },
  });
  const upgrade = wsUpgrade(createServer(methods, { log: silentLog }));
  const headers = {
    host: "localhost",
    upgrade: "websocket",
    connection: "Upgrade",
    "sec-websocket-version": "13",
    "sec-websocket-key": "Y2FsbHdpcmUgYmVuY2ghIQ==",
  };
  const request = { method: "GET", url: "/", headers, socket: wire };
  upgrade(request as unknown as IncomingMessage, wire, Buffer.alloc(0));
  await until(() => written.length > 0);
  // One MiB, of which each chunk brings a byte.
  wire.push(Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0]));
  for (let i = 0; i < 5000; i++) {
    if (i % 100 === 0) await turn();
    wire.push(" ");
  }
  await until(() => written.length > 1);
  expect(Buffer.concat(written.slice(1))).toEqual(Buffer.from([0x88, 0x02, 0x03, 0xf0]));
  wire.destroy();
});

describe("a client that does not read", () => {
  /** The server's own side of the first connection. */
  function ownSocket({ http }: Served): Promise<Socket> {
    return new Promise((resolve) => http.once("connection", resolve));
  }

  const long = { long: () => "x".repeat(10_000_000), ...methods };
  /** More than the system holds for a socket. */
  const calls = 3;
  const callLong = '{"jsonrpc":"2.0","method":"long","id":1}';

  test("has 10 seconds to take what waits, and the next reply does not add to them", async () => {
    const limits = { maxBufferedBytes: 400 * 1024 * 1024 };
    const served = await serve(long, { server: { limits } });
    const accepted = ownSocket(served);
    const { ws, inbox } = await rawClient(served.url);
    const socket = await accepted;
    const timeouts: number[] = [];
    const setTimeout = socket.setTimeout.bind(socket);
    socket.setTimeout = (ms, ...rest) => {
      timeouts.push(ms);
      return setTimeout(ms, ...rest);
    };
    ws.pause();
    for (let i = 0; i < calls; i++) ws.send(callLong);
    await until(() => timeouts.length > 0);
    const { writableLength } = socket;
    ws.send(callLong);
    await until(() => socket.writableLength > writableLength);
    expect(timeouts).toEqual([10_000]);
    ws.resume();
    for (let i = 0; i <= calls; i++) await inbox.message();
    await until(() => timeouts.length > 1);
    expect(timeouts).toEqual([10_000, 0]);
  });

  test("is disconnected without a closing handshake", async () => {
    const served = await serve(long, { writeTimeoutMs: 20 });
    const accepted = ownSocket(served);
    const { ws, closed } = await rawClient(served.url);
    const gone = new Promise((resolve) => void accepted.then((it) => it.once("close", resolve)));
    ws.pause();
    for (let i = 0; i < calls; i++) ws.send(callLong);
    await gone;
    ws.resume();
    expect((await closed)[0]).toBe(1006);
  });

  test("is disconnected, too, if it only pings", async () => {
    const served = await serve(methods, { writeTimeoutMs: 20 });
    const accepted = ownSocket(served);
    const socket = await upgraded(served.port);
    const gone = new Promise((resolve) => void accepted.then((it) => it.once("close", resolve)));
    socket.pause();
    socket.write(Buffer.concat(Array<Buffer>(200_000).fill(frame(ping, "x".repeat(125), true))));
    await gone;
  });

  test("is not read from, however little may wait for it", async () => {
    // Less than Node buffers before it reports that a socket is full.
    const served = await serve(methods, { server: { limits: { maxBufferedBytes: 16 * 1024 } } });
    const accepted = ownSocket(served);
    const socket = await upgraded(served.port);
    const own = await accepted;
    socket.pause();
    const call = echo.replace("hi", "x".repeat(3000));
    await until(() => {
      socket.write(textFrames([call], true));
      return own.isPaused();
    });
    own.resetAndDestroy();
  });

  test("has a timeout that must be a number of at least 1", () => {
    const service = createServer(methods, { log: silentLog });
    expect(() => wsUpgrade(service, { writeTimeoutMs: 0 })).toThrow(TypeError);
  });
});

test("a client does not wait forever for a server that does not answer its close", async () => {
  const { url, accepted } = await acceptingServer();
  const connection = await connectWebSocket(url);
  const socket = await accepted;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const gone = new Promise((resolve) => socket.once("close", resolve));
  const closing = connection.close();
  await heard(socket, "\x88");
  await vi.advanceTimersByTimeAsync(3000);
  await gone;
  await closing;
});

test("a connection that is closed because all buffer too much together is cut without a handshake", async () => {
  const { port } = await serve(methods, { server: { maxWireBytes: 1_000 } });
  const socket = await upgraded(port);
  const { closed } = new FrameReader(socket);
  socket.write(frame(text, "x".repeat(1_001), true));
  expect(await closed).toBeUndefined();
});
