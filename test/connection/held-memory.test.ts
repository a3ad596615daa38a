import { createServer, type ServerOptions, silentLog } from "callwire";
import { type Channel, Connection } from "callwire/connection";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { heapBytes } from "../../src/protocol/memory-bounds.ts";
import { deferred } from "../transports/contract/wire.ts";
import { HandChannel, PausingChannel, transport } from "./hand-channel.ts";

const text = "x".repeat(10_000);
const wait = (id: number) => ({ jsonrpc: "2.0", method: "wait", params: [id, text], id });
/** The memory that such a call counts for. */
const each = heapBytes(JSON.stringify(wait(1)));
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A server whose calls end when the test says so. */
function waitingServer(options: ServerOptions) {
  const gates = new Map<number, ReturnType<typeof deferred<void>>>();
  const methods = {
    wait: async (id: number) => {
      const gate = deferred();
      gates.set(id, gate);
      await gate.promise;
      return id;
    },
  };
  const service = createServer(methods, { log: silentLog, ...options });
  const connect = <C extends Channel>(channel: C): { channel: C; connection: Connection } => ({
    channel,
    connection: new Connection(channel, { service, transport }),
  });
  const end = async (id: number): Promise<void> => {
    gates.get(id)?.resolve();
    await turn();
  };
  return { connect, end, running: () => [...gates.keys()] };
}

const busy = (id: number) => ({
  jsonrpc: "2.0",
  id,
  error: expect.objectContaining({ code: -32005 }),
});

describe("calls in flight that hold much memory", () => {
  test("stop the reading of their connection until enough of them have ended", async () => {
    const limits = { maxInFlightBytes: 4 * each };
    const { connect, end } = waitingServer({ limits });
    const { channel } = connect(new PausingChannel());
    channel.hear(wait(1));
    channel.hear(wait(2));
    expect(channel.paused).toBe(false);
    channel.hear(wait(3));
    expect(channel.paused).toBe(true);
    await end(2);
    expect(channel.paused).toBe(false);
    expect(channel.messages).toMatchObject([{ id: 2, result: 2 }]);
  });

  test("are refused above the limit on a wire that cannot make its peer wait", async () => {
    const { connect, end, running } = waitingServer({ limits: { maxInFlightBytes: 2 * each } });
    const { channel } = connect(new HandChannel());
    for (let id = 1; id <= 3; id++) channel.hear(wait(id));
    expect(channel.messages).toEqual([busy(3)]);
    await end(1);
    channel.hear(wait(4));
    expect(running()).toEqual([1, 2, 4]);
  });

  test("of one connection are refused for the memory that all connections hold together", async () => {
    const { connect, end, running } = waitingServer({ maxRunningBytes: 2 * each });
    const [first, second] = [connect(new HandChannel()), connect(new HandChannel())];
    first.channel.hear(wait(1));
    first.channel.hear(wait(2));
    second.channel.hear(wait(3));
    expect(second.channel.messages).toEqual([busy(3)]);
    await end(1);
    second.channel.hear(wait(4));
    expect(running()).toEqual([1, 2, 4]);
  });

  test("count until their handlers are done, also if they were ended before", async () => {
    const { connect, end } = waitingServer({ limits: { maxInFlightBytes: each } });
    const { channel } = connect(new HandChannel());
    channel.hear(wait(1));
    channel.hear({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    await turn();
    channel.hear(wait(2));
    expect(channel.messages).toEqual([
      expect.objectContaining({ id: 1, error: expect.objectContaining({ code: -32800 }) }),
      busy(2),
    ]);
    await end(1);
    channel.hear(wait(3));
    expect(channel.messages).toHaveLength(2);
  });

  test("of a batch count as a whole until the last has ended", async () => {
    const { connect, end, running } = waitingServer({ limits: { maxInFlightBytes: 2 * each } });
    const { channel } = connect(new HandChannel());
    channel.hear([wait(1), wait(2)]);
    await end(1);
    channel.hear(wait(3));
    expect(channel.messages).toEqual([busy(3)]);
    await end(2);
    channel.hear(wait(4));
    expect(running()).toEqual([1, 2, 4]);
  });

  test("may be as large as a message may be if there are no others", () => {
    const { connect, running } = waitingServer({ limits: { maxInFlightBytes: 1 } });
    connect(new HandChannel()).channel.hear(wait(1));
    expect(running()).toEqual([1]);
  });
});

describe("a connection that is not read because of them", () => {
  const limits = { maxInFlightBytes: 4 * each };

  test("is read while this side waits for a reply of its peer", async () => {
    const { connect } = waitingServer({ limits });
    const { channel, connection } = connect(new PausingChannel());
    for (let id = 1; id <= 3; id++) channel.hear(wait(id));
    expect(channel.paused).toBe(true);
    const called = connection.call("ask");
    expect(channel.paused).toBe(false);
    // It continues to be read while the reply is awaited.
    channel.hear(wait(4));
    expect(channel.paused).toBe(false);
    channel.hear({ jsonrpc: "2.0", id: channel.messages[0]?.id, result: "told" });
    expect(await called).toBe("told");
  });

  test("is read after a while, so that its peer can cancel them, and calls too many are refused", async () => {
    const clock = new FakeClock();
    const { connect, end, running } = waitingServer({ limits, clock, timeoutMs: 60_000 });
    const { channel } = connect(new PausingChannel());
    for (let id = 1; id <= 3; id++) channel.hear(wait(id));
    clock.advance(5_000);
    expect(channel.paused).toBe(false);
    channel.hear(wait(4));
    channel.hear(wait(5));
    expect(channel.paused).toBe(false);
    expect(channel.messages).toEqual([busy(5)]);
    for (const id of running()) await end(id);
    // After that it is paused as before.
    for (let id = 6; id <= 7; id++) channel.hear(wait(id));
    expect(channel.paused).toBe(false);
    channel.hear(wait(8));
    expect(channel.paused).toBe(true);
  });

  test("is not kept by the server after it was lost", async () => {
    const { connect, end } = waitingServer({ limits });
    const { channel, connection } = connect(new PausingChannel());
    for (let id = 1; id <= 3; id++) channel.hear(wait(id));
    channel.listener.end();
    await connection.closed;
    for (let id = 1; id <= 3; id++) await end(id);
    expect(channel.paused).toBe(true);
  });
});

test("a connection with little in flight does not wait for what others hold", () => {
  const { connect } = waitingServer({ maxRunningBytes: 20 * each });
  const [heavy, light] = [connect(new PausingChannel()), connect(new PausingChannel())];
  for (let id = 1; id <= 11; id++) heavy.channel.hear(wait(id));
  expect(heavy.channel.paused).toBe(true);
  light.channel.hear(wait(12));
  expect(light.channel.paused).toBe(false);
});

describe("what connections buffer together", () => {
  class BufferingChannel extends HandChannel {
    arrivingBytes = 0;
  }

  test("closes those that buffer most, once it is too much", () => {
    const { connect } = waitingServer({ maxWireBytes: 1_000 });
    const all = [300, 500, 400].map((bytes) => {
      const made = connect(new BufferingChannel());
      made.channel.bufferedBytes = bytes;
      return made;
    });
    all[0]?.connection.notify("pushed", [text]);
    expect(all.map(({ channel }) => channel.closedFor)).toEqual([undefined, "dead", undefined]);
  });

  test("includes messages that have arrived in part", () => {
    const { connect } = waitingServer({ maxWireBytes: 1_000 });
    const [slow, other] = [connect(new BufferingChannel()), connect(new BufferingChannel())];
    slow.channel.arrivingBytes = 900;
    other.channel.bufferedBytes = 200;
    other.channel.listener.arriving?.(200);
    expect(slow.channel.closedFor).toBe("dead");
    expect(other.channel.closedFor).toBeUndefined();
  });

  test("does not include connections that are gone", async () => {
    const { connect } = waitingServer({ maxWireBytes: 1_000 });
    const [gone, other] = [connect(new BufferingChannel()), connect(new BufferingChannel())];
    gone.channel.bufferedBytes = 900;
    await gone.connection.close();
    other.channel.bufferedBytes = 200;
    other.channel.listener.arriving?.(200);
    expect(other.channel.closedFor).toBeUndefined();
  });
});
