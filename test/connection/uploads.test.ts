import { createClient, createServer, method, silentLog, stream } from "callwire";
import { Connection } from "callwire/connection";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { turn } from "../transports/contract-methods.ts";
import { HandChannel, transport } from "./hand-channel.ts";

const methods = {
  sum: method({ upload: z.number() }, async (_, call) => {
    let sum = 0;
    for await (const item of call.upload) sum += item;
    return sum;
  }),
  echo: stream({ upload: z.unknown() }, async function* (_, call) {
    for await (const item of call.upload) yield item;
  }),
  /** Reads nothing until `read` is called. */
  held: method({ upload: z.string() }, async (_, call) => {
    const items = call.upload[Symbol.asyncIterator]();
    await items.next();
    await new Promise((_, reject) => {
      call.signal.addEventListener("abort", () => reject(call.signal.reason));
    });
  }),
};

function serve(limits = {}) {
  const channel = new HandChannel();
  const service = createServer(methods, { log: silentLog, limits });
  const connection = new Connection(channel, { service, transport });
  const notify = (name: string, params: object): void =>
    channel.hear({ jsonrpc: "2.0", method: name, params });
  const call = (name: string, id: unknown): void =>
    channel.hear({ jsonrpc: "2.0", method: name, id, upload: true });
  return { channel, connection, notify, call };
}

const credit = (id: unknown, count: number) => ({
  jsonrpc: "2.0",
  method: "$/uploadCredit",
  params: { id, count },
});

describe("uploads on a connection", () => {
  test("of both sides are kept apart, although their calls have the same id", async () => {
    const { channel, connection, notify, call } = serve();
    const client = createClient(connection);
    const own = client.call<string>("other", undefined, { upload: ["ours"] });
    while (channel.sent.length === 0) await turn();
    const [id] = channel.ids;
    call("sum", id);
    await turn();
    // Credit for our items, and items of the peer.
    notify("$/uploadCredit", { id, count: 8 });
    notify("$/upload", { id, value: 40 });
    notify("$/upload", { id, value: 2 });
    notify("$/upload", { id, done: true });
    await turn();
    channel.hear({ jsonrpc: "2.0", result: "theirs", id });
    expect(await own).toBe("theirs");
    expect(channel.messages.slice(1)).toEqual(
      expect.arrayContaining([
        credit(id, 8),
        { jsonrpc: "2.0", method: "$/upload", params: { id, value: "ours" } },
        { jsonrpc: "2.0", method: "$/upload", params: { id, done: true } },
        { jsonrpc: "2.0", result: 42, id },
      ]),
    );
  });

  test("take no item before there is credit for it", async () => {
    const { channel, connection, notify } = serve();
    let taken = 0;
    const upload = (function* () {
      for (;;) yield ++taken;
    })();
    const reply = createClient(connection).call<string>("other", undefined, { upload });
    while (channel.sent.length === 0) await turn();
    const [id] = channel.ids;
    await turn();
    expect(taken).toBe(0);
    for (const count of [0, -1, "8", null]) notify("$/uploadCredit", { id, count });
    notify("$/uploadCredit", { id: "another", count: 5 });
    await turn();
    expect(taken).toBe(0);
    notify("$/uploadCredit", { id, count: 3 });
    await turn();
    expect(taken).toBe(3);
    channel.hear({ jsonrpc: "2.0", result: "enough", id });
    expect(await reply).toBe("enough");
    expect(upload.next().done).toBe(true);
  });

  test("are asked for fewer items if these are long", async () => {
    const { channel, notify, call } = serve();
    call("sum", 1);
    await turn();
    const given = () => channel.messages.filter(({ method }) => method === "$/uploadCredit");
    expect(given()).toEqual([credit(1, 8)]);
    for (let i = 0; i < 4; i++) notify("$/upload", { id: 1, value: i });
    await turn();
    expect(given()).toEqual([credit(1, 8), credit(1, 57)]);
    call("echo", 2);
    await turn();
    for (let i = 0; i < 8; i++) notify("$/upload", { id: 2, value: "x".repeat(200_000) });
    await turn();
    const total = given()
      .map(({ params }) => params as { id: number; count: number })
      .reduce((sum, { id, count }) => (id === 2 ? sum + count : sum), 0);
    // Five of them are about a mebibyte.
    expect(total).toBeLessThanOrEqual(8 + 5);
    expect(total).toBeGreaterThan(8 + 2);
  });

  test("are asked for one at a time if each is longer than what may be on its way", async () => {
    const { channel, notify, call } = serve({ maxMessageBytes: 10_000_000 });
    call("echo", 1);
    await turn();
    for (let i = 0; i < 8; i++) notify("$/upload", { id: 1, value: "x".repeat(1_100_000) });
    for (let i = 0; i < 10; i++) await turn();
    const credits = channel.messages.filter(({ method }) => method === "$/uploadCredit");
    expect(credits).toEqual([credit(1, 8), credit(1, 1)]);
  });

  test("that the handler stops reading are over for it", async () => {
    let end: unknown;
    const channel = new HandChannel();
    const first = method({ upload: z.unknown() }, async (_, call) => {
      const items = call.upload[Symbol.asyncIterator]();
      const { value } = await items.next();
      end = await items.return?.();
      return value;
    });
    new Connection(channel, { service: createServer({ first }, { log: silentLog }), transport });
    channel.hear({ jsonrpc: "2.0", method: "first", id: 1, upload: true });
    await turn();
    channel.hear({ jsonrpc: "2.0", method: "$/upload", params: { id: 1, value: 5 } });
    await turn();
    expect(channel.messages.at(-1)).toEqual({ jsonrpc: "2.0", result: 5, id: 1 });
    expect(end).toEqual({ done: true, value: undefined });
  });

  test("end if a message was too long or unreadable, because it may have been an item", async () => {
    const { channel, call } = serve();
    call("sum", 1);
    await turn();
    channel.hear("no JSON");
    await turn();
    expect(channel.messages).toContainEqual(
      expect.objectContaining({ id: 1, error: expect.objectContaining({ code: -32600 }) }),
    );
  });

  test("end if their unread items take too much memory", async () => {
    const { channel, notify, call } = serve({ maxInFlightBytes: 100_000 });
    call("held", 1);
    await turn();
    for (let i = 0; i < 8; i++) notify("$/upload", { id: 1, value: "x".repeat(10_000) });
    await turn();
    expect(channel.messages).toContainEqual(
      expect.objectContaining({
        id: 1,
        error: expect.objectContaining({
          code: -32005,
          data: expect.objectContaining({ ran: true }),
        }),
      }),
    );
  });

  test("ignore what is not an item of an open upload", async () => {
    const { channel, connection, notify, call } = serve();
    call("sum", 1);
    await turn();
    for (const params of [{}, { id: 2, value: 1 }, { id: null, value: 1 }, { value: 1 }, []]) {
      notify("$/upload", params);
    }
    notify("$/upload", { id: 1, value: 5 });
    notify("$/upload", { id: 1, done: true });
    notify("$/upload", { id: 1, value: 6 });
    notify("$/upload", { id: 1, done: true });
    await turn();
    expect(channel.messages.at(-1)).toEqual({ jsonrpc: "2.0", result: 5, id: 1 });
    notify("$/upload", { id: 1, value: 7 });
    expect(connection.isOpen).toBe(true);
  });

  test("with more items than credit end with an error that says so", async () => {
    const { channel, notify, call } = serve();
    call("held", 1);
    await turn();
    // The handler takes one of the eight, so it requests more.
    for (let i = 0; i < 100; i++) notify("$/upload", { id: 1, value: "x" });
    await turn();
    expect(channel.messages.at(-1)).toEqual({
      jsonrpc: "2.0",
      error: {
        code: -32600,
        message: "Invalid Request",
        data: "the upload has more items than there was credit for",
      },
      id: 1,
    });
  });

  test("that are missing, or that a wire cannot carry, are refused with what to do", async () => {
    const { channel } = serve();
    const details = 'this method takes an upload; send "upload": true with the request';
    for (const [id, upload] of [
      [1, undefined],
      [2, false],
      [3, "true"],
    ]) {
      channel.hear({ jsonrpc: "2.0", method: "sum", id, upload });
    }
    await turn();
    expect(channel.messages).toEqual(
      [1, 2, 3].map((id) => ({
        jsonrpc: "2.0",
        error: { code: -32602, message: "Invalid params", data: { details } },
        id,
      })),
    );
    const text = '{"jsonrpc":"2.0","method":"sum","id":1,"upload":true}';
    expect(JSON.parse((await createServer(methods).receive(text)) as string).error).toEqual({
      code: -32007,
      message: "This method takes an upload",
      data: 'send "Content-Type: application/x-ndjson", or call it over WebSocket, TCP, stdio or NATS',
    });
  });

  test("count towards the limit of streams", async () => {
    const { channel, call } = serve({ maxStreams: 2 });
    for (const id of [1, 2, 3]) call("sum", id);
    await turn();
    expect(channel.messages.at(-1)).toMatchObject({ id: 3, error: { code: -32005 } });
  });
});
