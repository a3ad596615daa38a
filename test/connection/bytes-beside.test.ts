import { byteStream, createClient, createServer, method, silentLog } from "callwire";
import { Connection, memoryPair } from "callwire/connection";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { turn } from "../transports/contract-methods.ts";
import { HandChannel, transport } from "./hand-channel.ts";

/** A channel whose peer is the test, and that carries frames of bytes. */
class ByteChannel extends HandChannel {
  readonly frames: Uint8Array[] = [];

  sendBytes(frame: Uint8Array): void {
    this.frames.push(frame);
  }

  hearBytes(...frame: number[]): void {
    this.listener.bytes?.(Uint8Array.from(frame));
  }

  /** The next message that was sent, as soon as there is one. */
  async next(): Promise<Record<string, unknown>> {
    while (this.sent.length === 0) await turn();
    return JSON.parse(this.sent.shift() as string) as Record<string, unknown>;
  }
}

const left: string[] = [];
const methods = {
  length: method({ params: z.object({ file: z.instanceof(Blob) }) }, async ({ file }) => {
    return (await file.bytes()).length;
  }),
  stream: method(
    { result: byteStream() },
    () =>
      new ReadableStream<Uint8Array>(
        {
          pull: (controller) => controller.enqueue(new Uint8Array(10)),
          cancel: () => void left.push("stream"),
        },
        { highWaterMark: 0 },
      ),
  ),
};

function serve(limits = {}) {
  const channel = new ByteChannel();
  const service = createServer(methods, { log: silentLog, limits });
  const connection = new Connection(channel, { service, transport });
  return { channel, connection };
}

const greeting = {
  jsonrpc: "2.0",
  id: "hello",
  method: "$/acceptsBytes",
  params: { maxFrameBytes: 1000 },
};
const call = (id: number, size = 5) => ({
  jsonrpc: "2.0",
  id,
  method: "length",
  params: { file: { part: 1, size, type: "" } },
  types: { blob: ["/file"] },
});

async function greeted(limits = {}) {
  const served = serve(limits);
  served.channel.hear(greeting);
  expect(await served.channel.next()).toEqual({
    jsonrpc: "2.0",
    result: { maxFrameBytes: 65_542 },
    id: "hello",
  });
  return served;
}

describe("bytes beside the messages of a connection", () => {
  test("are asked for by the reader, who gives their stream a number", async () => {
    const { channel } = await greeted();
    channel.hear(call(7));
    expect(await channel.next()).toEqual({
      jsonrpc: "2.0",
      method: "$/readBytes",
      params: { id: 7, part: 1, of: "params", stream: 1, credit: 262_144 },
    });
    channel.hearBytes(0, 0, 0, 0, 1, 0, 1, 2, 3);
    channel.hearBytes(0, 0, 0, 0, 1, 1, 4, 5);
    expect(await channel.next()).toEqual({ jsonrpc: "2.0", result: 5, id: 7 });
  });

  test("fail their call if they take too much memory", async () => {
    const { channel, connection } = await greeted({ maxInFlightBytes: 10_000 });
    channel.hear(call(7, 20_000));
    expect(await channel.next()).toMatchObject({ method: "$/readBytes" });
    for (let i = 0; i < 3; i++) channel.hearBytes(0, 0, 0, 0, 1, 0, ...Array(5_000).fill(1));
    let message = await channel.next();
    while (message["id"] !== 7) message = await channel.next();
    const details = "bytes beside messages take too much memory";
    expect(message).toMatchObject({
      error: { code: -32005, data: { ran: true, reason: "busy", details } },
    });
    expect(connection.origin.inFlight).toBe(0);
  });

  test("of a result are sent as far as there is credit for them, and stop when the reader does", async () => {
    const { channel, connection } = await greeted();
    channel.hear({ jsonrpc: "2.0", id: 8, method: "stream", types: {} });
    expect(await channel.next()).toEqual({
      jsonrpc: "2.0",
      result: { part: 1 },
      id: 8,
      types: { stream: [""] },
    });
    expect(channel.frames).toEqual([]);
    const about = { id: 8, part: 1, of: "result", stream: 4_000_000_000, credit: 25 };
    channel.hear({ jsonrpc: "2.0", method: "$/readBytes", params: about });
    while (channel.frames.length < 3) await turn();
    const header = [0, 0xee, 0x6b, 0x28, 0, 0];
    expect(channel.frames.map((frame) => [...frame.subarray(0, 6)])).toEqual(Array(3).fill(header));
    expect(channel.frames.map(({ length }) => length - 6)).toEqual([10, 10, 5]);
    expect(connection.origin.openStreams).toBe(1);
    left.length = 0;
    channel.hear({ jsonrpc: "2.0", method: "$/dropBytes", params: { stream: 4_000_000_000 } });
    expect(left).toEqual(["stream"]);
    expect(connection.origin.openStreams).toBe(0);
    expect(connection.origin.inFlight).toBe(0);
    expect(channel.frames).toHaveLength(3);
  });

  test("of a result that its caller has cancelled are dropped", async () => {
    const { channel, connection } = await greeted();
    channel.hear({ jsonrpc: "2.0", id: 9, method: "stream", types: {} });
    await channel.next();
    left.length = 0;
    channel.hear({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 9 } });
    expect(left).toEqual(["stream"]);
    expect(connection.origin.openStreams).toBe(0);
  });

  test("of results that are not read are limited, like streams", async () => {
    const { channel, connection } = await greeted({ maxStreams: 2, maxReplyLength: 100 });
    for (const id of [1, 2, 3]) channel.hear({ jsonrpc: "2.0", id, method: "stream", types: {} });
    const replies = [await channel.next(), await channel.next(), await channel.next()];
    expect(replies[2]).toMatchObject({ error: { message: "Reply too large" } });
    expect(connection.origin.openStreams).toBe(2);
    await connection.close();
    expect(connection.origin.openStreams).toBe(0);
  });

  test.each([
    ["of a stream that was not asked for", [0, 0, 0, 0, 2, 0, 1]],
    ["of the stream 0", [0, 0, 0, 0, 0, 0, 1]],
    ["without a stream", [0, 0, 0]],
    ["without bytes", []],
    ["with an unknown kind", [0, 0, 0, 0, 1, 9, 1]],
    ["that are text", [...Buffer.from('{"jsonrpc":"2.0"}')]],
  ])("%s are refused", async (_, frame) => {
    const { channel, connection } = await greeted();
    channel.hear(call(1));
    await channel.next();
    channel.hearBytes(...frame);
    while (channel.sent.every((text) => !text.includes("-32700"))) await turn();
    for (let i = 0; i < 9; i++) channel.hearBytes(...frame);
    expect(channel.closedFor).toBe("garbage");
    await connection.closed;
  });

  test("are refused before the peer has accepted them", () => {
    const { channel } = serve();
    channel.hearBytes(0, 0, 0, 0, 1, 0, 1);
    expect(channel.messages).toMatchObject([{ error: { code: -32700 } }]);
    channel.hear(call(1));
    expect(channel.messages[1]).toMatchObject({ error: { code: -32602 } });
    channel.hear({ jsonrpc: "2.0", id: 2, method: "stream", types: {} });
    expect(channel.frames).toEqual([]);
  });

  test("beyond the credit end their stream", async () => {
    const { channel } = await greeted();
    channel.hear(call(1, 300_000));
    await channel.next();
    const tooLong = new Uint8Array(6 + 262_145);
    tooLong[4] = 1;
    channel.listener.bytes?.(tooLong);
    const messages = [await channel.next(), await channel.next(), await channel.next()];
    expect(messages).toContainEqual(
      expect.objectContaining({ method: "$/dropBytes", params: { stream: 1 } }),
    );
    expect(messages).toContainEqual(expect.objectContaining({ id: 1, error: expect.anything() }));
    // Late frames of the dropped stream are ignored.
    for (let i = 0; i < 20; i++) channel.hearBytes(0, 0, 0, 0, 1, 0, 1);
    expect(channel.closedFor).toBeUndefined();
  });

  test("that their sender cannot read fail the call", async () => {
    const { channel } = await greeted();
    channel.hear(call(1));
    await channel.next();
    channel.hearBytes(0, 0, 0, 0, 1, 2);
    expect(await channel.next()).toMatchObject({ id: 1, error: { code: -32602 } });
  });

  test("that do not exist are answered with a failure", async () => {
    const { channel } = await greeted();
    const about = { id: 99, part: 1, of: "params", stream: 3, credit: 10 };
    channel.hear({ jsonrpc: "2.0", method: "$/readBytes", params: about });
    expect(channel.frames.map((frame) => [...frame])).toEqual([[0, 0, 0, 0, 3, 2]]);
  });

  test.each([{}, [], { maxFrameBytes: "1000" }, { maxFrameBytes: 1 }, undefined])(
    "are not agreed on with %j",
    async (params) => {
      const { channel } = serve();
      channel.hear({ ...greeting, params });
      expect(await channel.next()).toMatchObject({ id: "hello", error: { code: -32601 } });
    },
  );

  test("are part of the message if the peer does not know them", async () => {
    const channel = new ByteChannel();
    const connection = new Connection(channel, { transport });
    const client = createClient(connection, { values: "rich" });
    const reply = client.call("length", { file: new Blob(["hello"]) });
    const { id, method: asked } = await channel.next();
    expect(asked).toBe("$/acceptsBytes");
    channel.hear({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } });
    const sent = await channel.next();
    expect(sent["params"]).toMatchObject({ file: { size: 5, data: "aGVsbG8=" } });
    channel.hear({ jsonrpc: "2.0", id: sent["id"], result: 5 });
    expect(await reply).toBe(5);
    expect(channel.frames).toEqual([]);
  });

  test("settle when either side closes", async () => {
    const [near, far] = memoryPair(undefined, createServer(methods, { log: silentLog }));
    const client = createClient<typeof methods>(near, { values: "rich" });
    const poured = (await client.api.stream()).getReader();
    await poured.read();
    await far.close();
    const drained = async (): Promise<void> => {
      while (!(await poured.read()).done);
    };
    await expect(drained()).rejects.toBeInstanceOf(Error);
    await expect(client.api.length({ file: new Blob(["x"]) })).rejects.toBeInstanceOf(Error);
  });
});
