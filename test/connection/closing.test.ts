import { createClient, createServer, method, silentLog, stream } from "callwire";
import { Connection, memoryChannels, memoryPair } from "callwire/connection";
import { describe, expect, test } from "vitest";
import { turn } from "../transports/contract-methods.ts";
import { HandChannel, transport } from "./hand-channel.ts";

type Any = Record<"c" | "d", () => Promise<unknown>> & Record<string, () => Promise<unknown>>;

function open() {
  const channel = new HandChannel();
  const signals: AbortSignal[] = [];
  const events: string[] = [];
  const service = createServer(
    {
      echo: (value: unknown) => events.push(`echo ${value}`),
      wait: method({}, (_, call) => {
        signals.push(call.signal);
        return new Promise(() => {});
      }),
      numbers: stream({}, async function* () {
        try {
          for (let i = 0; ; i++) yield i;
        } finally {
          events.push("left");
        }
      }),
    },
    { log: silentLog },
  );
  const connection = new Connection(channel, { service, transport, log: silentLog });
  return { channel, connection, signals, events, client: createClient<Any>(connection) };
}

function failed(code: string): object {
  return {
    status: "rejected",
    reason: expect.objectContaining({ name: "WireError", code }),
  };
}

describe("closing", () => {
  test("settles every call of this end", async () => {
    const { channel, connection, client } = open();
    const outcomes = Promise.allSettled([connection.call("a"), client.call("b")]);
    const batch = client.batchSettled((b) => [b.c(), b.d()]);
    const reading = Promise.allSettled([client.stream("e")[Symbol.asyncIterator]().next()]);
    expect(connection.pending).toBe(5);
    await connection.close();
    expect(await outcomes).toEqual([failed("CLOSED"), failed("CLOSED")]);
    expect(await batch).toEqual([failed("CLOSED"), failed("CLOSED")]);
    expect(await reading).toEqual([failed("CLOSED")]);
    expect(connection.pending).toBe(0);
    expect(connection.isOpen).toBe(false);
    expect(channel.closedFor).toBe("done");
    expect(await connection.closed).toBe(undefined);
  });

  test("ends every call of the peer, and answers none of them", async () => {
    const { channel, connection, signals, events } = open();
    channel.hear({ jsonrpc: "2.0", method: "wait", id: 1 });
    channel.hear({ jsonrpc: "2.0", method: "numbers", id: 2 });
    await connection.close();
    await turn();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(events).toEqual(["left"]);
    expect(channel.messages.filter(({ id }) => id !== undefined)).toEqual([]);
  });

  test("refuses what is sent later", async () => {
    const { channel, connection, client } = open();
    await connection.close();
    await expect(connection.call("late")).rejects.toMatchObject({ code: "CLOSED" });
    await expect(client.notify("late")).rejects.toMatchObject({ code: "CLOSED" });
    const batch = client.batchSettled((b) => [b.c(), b.d()]);
    expect(await batch).toEqual([failed("CLOSED"), failed("CLOSED")]);
    expect(connection.notify("late")).toBe(false);
    expect(channel.sent).toEqual([]);
  });

  test("runs nothing that arrives later", async () => {
    const { channel, connection, events } = open();
    channel.endsWhenClosed = false;
    void connection.close();
    channel.hear({ jsonrpc: "2.0", method: "echo", params: ["late"], id: 1 });
    channel.hear([{ jsonrpc: "2.0", method: "echo", params: ["late"] }]);
    channel.hear("garbage");
    channel.listener.fault({ kind: "oversize", message: "late" });
    await turn();
    expect(events).toEqual([]);
    expect(channel.sent).toEqual([]);
  });

  test("waits until the wire is gone", async () => {
    const { channel, connection } = open();
    channel.endsWhenClosed = false;
    let closed = false;
    const closing = connection.close().then(() => {
      closed = true;
    });
    await turn();
    expect(closed).toBe(false);
    channel.listener.end();
    await closing;
  });

  test("twice is the same as once", async () => {
    const { channel, connection } = open();
    await Promise.all([connection.close("going-away"), connection.close(), connection.close()]);
    await connection[Symbol.asyncDispose]();
    expect(channel.closedFor).toBe("going-away");
  });
});

describe("a wire that breaks", () => {
  test("fails open calls with the reason, and resolves closed", async () => {
    const { channel, connection, signals } = open();
    channel.hear({ jsonrpc: "2.0", method: "wait", id: 1 });
    const call = connection.call("a");
    const reason = new Error("reset by peer");
    channel.listener.end(reason);
    await expect(call).rejects.toMatchObject({
      name: "WireError",
      code: "CONNECTION_LOST",
      message: "reset by peer",
      cause: reason,
    });
    expect(await connection.closed).toBe(reason);
    expect(signals[0]?.aborted).toBe(true);
    expect(connection.isOpen).toBe(false);
    await connection.close();
  });

  test("without a reason was closed by the peer", async () => {
    const { channel, connection } = open();
    const call = connection.call("a");
    channel.listener.end();
    await expect(call).rejects.toMatchObject({
      code: "CONNECTION_LOST",
      message: "the peer closed the connection",
    });
  });

  test("while a handler calls back fails that call too", async () => {
    let failure: unknown;
    const service = createServer(
      {
        back: method({}, (_, call) =>
          call.peer.call("never").catch((error: unknown) => {
            failure = error;
          }),
        ),
      },
      { log: silentLog },
    );
    const channel = new HandChannel();
    new Connection(channel, { service, transport });
    channel.hear({ jsonrpc: "2.0", method: "back", id: 1 });
    channel.listener.end();
    await turn();
    expect(failure).toMatchObject({ code: "CONNECTION_LOST" });
    expect(service.running.size).toBe(0);
  });
});

describe("a pair in memory", () => {
  test("delivers what was sent before it closed, and then both sides are closed", async () => {
    const heard: unknown[] = [];
    const service = createServer({ hear: (value: unknown) => void heard.push(value) });
    const [near, far] = memoryPair(undefined, service);
    near.notify("hear", [1]);
    near.notify("hear", [2]);
    await near.close();
    await far.closed;
    expect(heard).toEqual([1, 2]);
    expect(far.isOpen).toBe(false);
  });

  test("never delivers within the call that sends", async () => {
    const [left, right] = memoryChannels();
    const heard: string[] = [];
    const listener = {
      message: (text: string) => heard.push(text),
      fault() {},
      drain() {},
      end() {},
    };
    left.listen(listener);
    right.listen(listener);
    left.send("a");
    left.send("b");
    expect(heard).toEqual([]);
    await turn();
    expect(heard).toEqual(["a", "b"]);
  });

  test("answers each peer with its own methods", async () => {
    const [left, right] = memoryPair(
      createServer({ name: () => "left" }),
      createServer({ name: () => "right" }),
    );
    expect(await left.call("name")).toBe("right");
    expect(await right.call("name")).toBe("left");
  });
});
