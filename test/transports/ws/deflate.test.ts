/** Messages that are compressed one by one (`permessage-deflate` without context takeover). */
import { connect, type Socket } from "node:net";
import { constants, deflateRawSync, inflateRawSync } from "node:zlib";
import { createClient, method } from "callwire";
import { webSocketLink } from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { FrameReader, frame, handshake } from "./bare-socket.ts";
import { rawSocket, serve } from "./serving.ts";

const methods = {
  text: (length: number) => "ä".repeat(length),
  length: (text: string) => text.length,
  secret: method({ compress: false }, () => "s".repeat(2_000)),
};

const call = (name: string, param: unknown, id = 1) =>
  JSON.stringify({ jsonrpc: "2.0", method: name, params: [param], id });

const deflated = (text: string | Buffer) =>
  deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4).toString("latin1");

function inflated(payload: string): string {
  const tail = Buffer.of(0, 0, 0xff, 0xff);
  const options = { finishFlush: constants.Z_SYNC_FLUSH };
  return inflateRawSync(Buffer.concat([Buffer.from(payload, "latin1"), tail]), options).toString();
}

/** A client that offers the extension with this header; resolves with the head of the response. */
async function offering(port: number, offer: string) {
  const socket: Socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  const extension = `Sec-WebSocket-Extensions: ${offer}\r\n\r\n`;
  socket.write(handshake.replace(/\r\n$/, extension));
  const head = await new Promise<string>((resolve) => {
    socket.once("data", (chunk: Buffer) => resolve(chunk.toString("latin1")));
  });
  const [, agreed] = /sec-websocket-extensions: (.*)\r\n/i.exec(head) ?? [];
  return { socket, frames: new FrameReader(socket), agreed };
}

const plain = 0x81;
const compressed = 0xc1;

describe("a server", () => {
  test("does not compress by default", async () => {
    const { port } = await serve(methods);
    const { socket, frames, agreed } = await offering(port, "permessage-deflate");
    expect(agreed).toBeUndefined();
    const reply = frames.frame(plain);
    socket.write(frame(plain, call("text", 1_000), true));
    expect(JSON.parse(Buffer.from(await reply, "latin1").toString())).toMatchObject({ id: 1 });
  });

  test("does not compress for a client that does not offer it", async () => {
    const { url } = await serve(methods, { compress: true });
    const { ws, inbox } = await rawSocket(url, { perMessageDeflate: false });
    ws.send(call("text", 2_000));
    expect(await inbox.next()).toContain("ä".repeat(2_000));
  });

  test("compresses long messages and no others, for a client that offers it", async () => {
    const { port } = await serve(methods, { compress: true });
    const offer = "permessage-deflate; client_max_window_bits";
    const { socket, frames, agreed } = await offering(port, offer);
    expect(agreed?.split("; ").sort()).toEqual([
      "client_no_context_takeover",
      "permessage-deflate",
      "server_no_context_takeover",
    ]);
    const long = [frames.frame(compressed), frames.frame(compressed)];
    const short = frames.frame(plain);
    socket.write(frame(compressed, deflated(call("text", 70_000, 1)), true));
    socket.write(frame(plain, call("text", 2, 2), true));
    socket.write(frame(compressed, deflated(call("text", 2_000, 3)), true));
    const [first = "", second = ""] = await Promise.all(long);
    expect(JSON.parse(inflated(first))).toMatchObject({ result: "ä".repeat(70_000), id: 1 });
    expect(JSON.parse(inflated(second))).toMatchObject({ result: "ä".repeat(2_000), id: 3 });
    expect(await short).toContain('"id":2');
  });

  test("does not agree to a smaller window", async () => {
    const { port } = await serve(methods, { compress: true });
    const { agreed } = await offering(port, "permessage-deflate; server_max_window_bits=9");
    expect(agreed).toBeUndefined();
  });

  test("sends the secrets of a method, and what follows, without compression", async () => {
    const { port } = await serve(methods, { compress: true });
    const { socket, frames } = await offering(port, "permessage-deflate");
    const replies = [frames.frame(plain), frames.frame(plain)];
    socket.write(frame(plain, call("secret", 0), true));
    socket.write(frame(plain, call("text", 2_000), true));
    const [secret, text] = await Promise.all(replies);
    expect(secret).toContain("s".repeat(2_000));
    expect(text).toContain('"result"');
  });

  test("closes with 1009 if a message inflates to more than its limit", async () => {
    const { port } = await serve(methods, { compress: true });
    const { socket, frames } = await offering(port, "permessage-deflate");
    const bomb = deflated(Buffer.alloc(8 * 1024 * 1024, " "));
    socket.write(frame(compressed, bomb, true));
    expect(await frames.closed).toBe(1009);
  });

  test("counts messages of a chunk that wait with their length, not that of the chunk", async () => {
    const server = { maxWireBytes: 200_000, limits: { maxInFlightBytes: 100_000 } };
    const hold = { hold: () => new Promise(() => {}) };
    const { port } = await serve(hold, { compress: true, server });
    const { socket, frames } = await offering(port, "permessage-deflate");
    const message = frame(compressed, deflated(call("hold", "x".repeat(90_000))), true);
    socket.write(Buffer.concat(Array.from({ length: 5 }, () => message)));
    expect(await frames.closed).toBeUndefined();
  });

  test("closes with 1007 if a message cannot be inflated", async () => {
    const { port } = await serve(methods, { compress: true });
    const { socket, frames } = await offering(port, "permessage-deflate");
    socket.write(frame(compressed, "\xff\xff\xff", true));
    expect(await frames.closed).toBe(1007);
  });
});

describe("a link", () => {
  test.each([
    ["both", true, true],
    ["only the link", false, true],
    ["only the server", true, false],
  ])("carries calls of any length if %s may compress", async (_, server, link) => {
    const { url } = await serve(methods, { compress: server });
    const wire = webSocketLink(url, { compress: link });
    onTestFinished(() => wire.close());
    const { api } = createClient<typeof methods>(wire);
    const lengths = [1, 1_023, 1_024, 70_000, 300_000];
    const sent = lengths.map((length) => api.length("ä".repeat(length)));
    expect(await Promise.all(sent)).toEqual(lengths);
    for (const length of lengths) expect(await api.text(length)).toBe("ä".repeat(length));
  });

  test("compresses what it sends", async () => {
    const { http, url } = await serve(methods, { compress: true });
    const arrived: Buffer[] = [];
    http.on("upgrade", (_, socket) => socket.on("data", (chunk: Buffer) => arrived.push(chunk)));
    const wire = webSocketLink(url, { compress: true });
    onTestFinished(() => wire.close());
    const { api } = createClient<typeof methods>(wire);
    expect(await api.length("x".repeat(50_000))).toBe(50_000);
    expect(arrived[0]?.[0]).toBe(compressed);
  });
});
