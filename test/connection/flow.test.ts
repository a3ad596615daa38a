import {
  type Clock,
  createClient,
  createServer,
  defaultLimits,
  type Log,
  method,
  silentLog,
  stream,
  systemClock,
} from "callwire";
import { Connection, memoryPair } from "callwire/connection";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { turn } from "../transports/contract-methods.ts";
import { HandChannel, transport } from "./hand-channel.ts";

const echo = { jsonrpc: "2.0", method: "echo", params: ["hi"], id: 1 };
const echoed = '{"jsonrpc":"2.0","result":"hi","id":1}';

function serve(limits = {}, log: Log = silentLog, clock: Clock = systemClock) {
  const channel = new HandChannel();
  let produced = 0;
  const service = createServer(
    {
      echo: (value: unknown) => value,
      numbers: stream({}, async function* () {
        for (;;) yield produced++;
      }),
    },
    { log, limits, clock },
  );
  const connection = new Connection(channel, { service, transport });
  return { channel, connection, produced: () => produced };
}

describe("what cannot be read", () => {
  test("is answered, and ten times is enough", () => {
    const warnings: string[] = [];
    const log: Log = { ...silentLog, warn: (_, message) => warnings.push(message) };
    const { channel, connection } = serve({}, log);
    for (let i = 0; i < 9; i++) {
      if (i % 2 === 0) channel.hear("no JSON");
      else channel.listener.fault({ kind: "unreadable", message: "no UTF-8" });
    }
    channel.hear(echo);
    expect(channel.messages.slice(0, 9)).toEqual(
      Array(9).fill({ jsonrpc: "2.0", error: { code: -32700, message: "Parse error" }, id: null }),
    );
    expect(channel.sent[9]).toBe(echoed);
    expect(connection.isOpen).toBe(true);
    channel.hear("the tenth");
    expect(connection.isOpen).toBe(false);
    expect(channel.closedFor).toBe("garbage");
    channel.hear("the eleventh");
    channel.hear(echo);
    expect(channel.sent).toHaveLength(11);
    expect(warnings).toHaveLength(1);
  });

  test("is forgotten one by one, a minute each", () => {
    const clock = new FakeClock();
    const { channel, connection } = serve({}, silentLog, clock);
    const garble = (times: number) => {
      for (let i = 0; i < times; i++) channel.hear("no JSON");
    };
    for (let minute = 0; minute < 60; minute++) {
      garble(1);
      clock.advance(60_000);
    }
    garble(9);
    expect(connection.isOpen).toBe(true);
    clock.advance(119_999);
    garble(1);
    clock.advance(1);
    garble(1);
    expect(connection.isOpen).toBe(true);
    garble(1);
    expect(connection.isOpen).toBe(false);
    expect(channel.closedFor).toBe("garbage");
  });

  test("is held against a peer also when the clock is set back", () => {
    const clock = new FakeClock(1_000_000);
    const { channel, connection } = serve({}, silentLog, clock);
    for (let i = 0; i < 10; i++) {
      channel.hear("no JSON");
      clock.advance(-1_000);
    }
    expect(connection.isOpen).toBe(false);
  });

  test("fails the calls that were sent to such a peer", async () => {
    const { channel, connection } = serve();
    const call = connection.call("theirs");
    for (let i = 0; i < 10; i++) channel.hear("garbage");
    await expect(call).rejects.toMatchObject({ name: "WireError", code: "CONNECTION_LOST" });
  });

  test("is refused for its length before it is parsed", () => {
    const { channel } = serve({ maxMessageBytes: 100 });
    channel.hear({ ...echo, params: ["x".repeat(100)] });
    channel.listener.fault({ kind: "oversize", message: "a frame is too long" });
    for (const message of channel.messages) {
      expect(message).toMatchObject({
        error: {
          code: -32600,
          data: {
            limit: "maxMessageBytes",
            max: 100,
            details: "a message must have at most 100 bytes",
          },
        },
        id: null,
      });
    }
    expect(channel.sent).toHaveLength(2);
    channel.hear(echo);
    expect(channel.sent[2]).toBe(echoed);
  });

  test("is refused for its length although a longer reply would be accepted", async () => {
    const { channel, connection } = serve({ maxMessageBytes: 100 });
    const call = connection.call("theirs");
    const long = { ...echo, params: ["x".repeat(100)] };
    channel.hear(long);
    channel.hear([long]);
    expect(channel.messages.slice(1)).toMatchObject([
      { error: { code: -32600 }, id: null },
      { error: { code: -32600 }, id: null },
    ]);
    expect(connection.pending).toBe(1);
    await connection.close();
    await expect(call).rejects.toMatchObject({ code: "CLOSED" });
  });
});

describe("a wire that is full", () => {
  test("makes ready() wait until it drains", async () => {
    const { channel, connection } = serve({ maxBufferedBytes: 400 });
    expect(connection.ready()).toBe(undefined);
    channel.bufferedBytes = 100;
    let waited = false;
    const waiting = connection.ready()?.then(() => {
      waited = true;
    });
    expect(waiting).toBeInstanceOf(Promise);
    await turn();
    expect(waited).toBe(false);
    channel.bufferedBytes = 0;
    channel.listener.drain();
    await waiting;
    expect(connection.ready()).toBe(undefined);
  });

  test("stops a stream without credit, which continues when it drains", async () => {
    const { channel, produced } = serve({ maxBufferedBytes: 400 });
    channel.bufferedBytes = 100;
    channel.hear({ jsonrpc: "2.0", method: "numbers", id: 1 });
    await turn();
    expect(produced()).toBe(1);
    expect(channel.sent).toEqual([]);
    channel.bufferedBytes = 0;
    channel.listener.drain();
    await turn();
    expect(produced()).toBeGreaterThan(1);
    channel.hear({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    await turn();
    expect(channel.messages.at(-1)).toMatchObject({ error: { code: -32800 }, id: 1 });
  });

  test("lets a stream be cancelled while it waits", async () => {
    const { channel } = serve({ maxBufferedBytes: 400 });
    channel.bufferedBytes = 100;
    channel.hear({ jsonrpc: "2.0", method: "numbers", id: 1 });
    await turn();
    channel.hear({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    await turn();
    expect(channel.messages).toMatchObject([{ error: { code: -32800 }, id: 1 }]);
  });

  test("is released when the connection ends", async () => {
    const { channel, connection } = serve({ maxBufferedBytes: 400 });
    channel.bufferedBytes = 100;
    const waiting = connection.ready();
    await connection.close();
    await waiting;
    expect(connection.ready()).toBe(undefined);
  });

  test("makes a notification wait, which resolves when the wire has taken it", async () => {
    const { channel, connection } = serve({ maxBufferedBytes: 400 });
    const client = createClient(connection);
    await client.notify("news", [1]);
    channel.bufferedBytes = 100;
    let taken = 0;
    const told = [2, 3].map((number) => client.notify("news", [number]).then(() => taken++));
    await turn();
    expect([channel.sent.length, taken]).toEqual([3, 0]);
    channel.bufferedBytes = 0;
    channel.listener.drain();
    await Promise.all(told);
    channel.bufferedBytes = 100;
    const last = client.notify("news", [4]);
    channel.listener.end();
    await last;
  });

  test("is closed when more than the limit waits for its reader", async () => {
    const warnings: string[] = [];
    const log: Log = { ...silentLog, warn: (_, message) => warnings.push(message) };
    const { channel, connection } = serve({ maxBufferedBytes: 400 }, log);
    const call = connection.call("theirs");
    channel.bufferedBytes = 401;
    channel.hear(echo);
    expect(channel.sent).toHaveLength(1);
    expect(channel.closedFor).toBe("slow-reader");
    expect(warnings).toEqual(["closed a connection whose peer does not read"]);
    await expect(call).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    expect(connection.notify("more")).toBe(false);
  });

  test("is not cut for one long reply", () => {
    const { channel, connection } = serve({ maxBufferedBytes: 400 });
    const params = ["x".repeat(1000)];
    channel.hear({ ...echo, params });
    channel.hear({ ...echo, params });
    expect(channel.sent).toHaveLength(2);
    expect(connection.isOpen).toBe(true);
  });
});

describe("credit", () => {
  test("is what a stream may send, counted from its first item", async () => {
    const { channel, produced } = serve();
    channel.hear({ jsonrpc: "2.0", method: "numbers", id: 1 });
    channel.hear({ jsonrpc: "2.0", method: "$/credit", params: { id: 1, count: 3 } });
    for (let i = 0; i < 5; i++) await turn();
    expect(channel.messages.map(({ params }) => params)).toEqual([
      { id: 1, value: 0 },
      { id: 1, value: 1 },
      { id: 1, value: 2 },
    ]);
    expect(produced()).toBe(4);
    channel.hear({ jsonrpc: "2.0", method: "$/credit", params: { id: 1, count: 2 } });
    for (let i = 0; i < 5; i++) await turn();
    expect(channel.sent).toHaveLength(5);
  });

  test("is a number above zero; anything else is ignored", async () => {
    const { channel } = serve();
    channel.hear({ jsonrpc: "2.0", method: "numbers", id: 1 });
    for (const count of [-5, 0, "9", null, {}]) {
      channel.hear({ jsonrpc: "2.0", method: "$/credit", params: { id: 1, count } });
    }
    while (channel.sent.length < 500) await turn();
    channel.hear({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
  });

  test("of one stream does not help another", async () => {
    const { channel } = serve();
    for (const id of ["a", "b"]) {
      channel.hear({ jsonrpc: "2.0", method: "numbers", id });
      channel.hear({ jsonrpc: "2.0", method: "$/credit", params: { id, count: 1 } });
    }
    channel.hear({ jsonrpc: "2.0", method: "$/credit", params: { id: "a", count: 2 } });
    for (let i = 0; i < 5; i++) await turn();
    const ids = channel.messages.map(({ params }) => (params as { id: string }).id);
    expect(ids.toSorted()).toEqual(["a", "a", "a", "b"]);
  });
});

test("one peer may send very much in one turn", async () => {
  const heard: number[] = [];
  const service = createServer({
    hear: method({}, (params) => void heard.push((params as number[])[0] ?? -1)),
  });
  const [near] = memoryPair(undefined, service);
  for (let i = 0; i < 50_000; i++) near.notify("hear", [i]);
  await turn();
  expect(heard).toHaveLength(50_000);
  expect(heard[49_999]).toBe(49_999);
  expect(defaultLimits.maxBufferedBytes).toBeGreaterThan(50_000 * 50);
});
