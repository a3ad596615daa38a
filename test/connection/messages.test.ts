import {
  type Context,
  createClient,
  createServer,
  type Log,
  type Methods,
  method,
  type ServerOptions,
  safe,
  silentLog,
  stream,
} from "callwire";
import { Connection } from "callwire/connection";
import { FakeClock } from "callwire/testing";
import { describe, expect, test, vi } from "vitest";
import { turn } from "../transports/contract-methods.ts";
import { HandChannel, transport } from "./hand-channel.ts";

function serve(methods: Methods, options: ServerOptions = {}) {
  const channel = new HandChannel();
  const service = createServer(methods, { log: silentLog, ...options });
  const connection = new Connection(channel, { service, transport });
  return { channel, connection, client: createClient(connection), service };
}

const echo = (value: unknown): unknown => value;

describe("calls of the peer", () => {
  test("are answered without a promise when the handler makes none", () => {
    const { channel } = serve({ echo });
    channel.hear({ jsonrpc: "2.0", method: "echo", params: ["hi"], id: 7 });
    expect(channel.sent).toEqual(['{"jsonrpc":"2.0","result":"hi","id":7}']);
  });

  test("may have the ids of our own calls", async () => {
    const { channel, connection } = serve({ echo });
    const call = connection.call("theirs");
    const [id] = channel.ids;
    channel.hear({ jsonrpc: "2.0", method: "echo", params: ["ours"], id });
    expect(channel.messages[1]).toEqual({ jsonrpc: "2.0", result: "ours", id });
    channel.hear({ jsonrpc: "2.0", result: "theirs", id });
    expect(await call).toBe("theirs");
  });

  test("are unknown to a peer without methods", async () => {
    const channel = new HandChannel();
    new Connection(channel, { transport });
    channel.hear({ jsonrpc: "2.0", method: "echo", id: 1 });
    channel.hear({ jsonrpc: "2.0", method: "notified" });
    await vi.waitUntil(() => channel.sent.length > 0);
    expect(channel.messages).toEqual([
      { jsonrpc: "2.0", error: { code: -32601, message: "Method not found" }, id: 1 },
    ]);
  });

  test("know their origin and can call back", async () => {
    const { channel, connection } = serve({
      who: method({}, async (_, call) => [call.transport.kind, await call.peer.call("name")]),
    });
    channel.hear({ jsonrpc: "2.0", method: "who", id: 1 });
    const [asked] = channel.messages;
    expect(asked).toMatchObject({ method: "name" });
    channel.hear({ jsonrpc: "2.0", result: "Ada", id: asked?.["id"] });
    await turn();
    expect(channel.messages[1]).toEqual({ jsonrpc: "2.0", result: ["hand", "Ada"], id: 1 });
    expect(connection.pending).toBe(0);
  });

  test("that call back wait for 60 s, or as long as they say", async () => {
    const clock = new FakeClock();
    const ask =
      (options?: { timeoutMs?: number; signal?: AbortSignal }) =>
      async (_: unknown, { peer }: Context): Promise<unknown> =>
        safe(peer.call("never", [], options)).then(({ error }) => [error?.code, error?.message]);
    const { channel, service } = serve(
      {
        usual: method({}, ask()),
        hurried: method({}, ask({ timeoutMs: 500 })),
        lasting: method({ timeoutMs: 1e9 }, ask({ timeoutMs: Number.POSITIVE_INFINITY })),
        stopped: method({ timeoutMs: 1e9 }, ask({ signal: new AbortController().signal })),
        wrong: method({}, ask({ timeoutMs: Number.NaN })),
      },
      { clock, timeoutMs: 1e9 },
    );
    const names = ["usual", "hurried", "lasting", "stopped"];
    for (const name of names) channel.hear({ jsonrpc: "2.0", method: name, id: name });
    const results = async (): Promise<unknown[]> => {
      await turn();
      return channel.messages.flatMap(({ id, result }) =>
        result === undefined ? [] : [[id, result]],
      );
    };
    clock.advance(499);
    expect(await results()).toEqual([]);
    clock.advance(1);
    const hurried = ["hurried", ["TIMEOUT", "never did not answer within 0.5 s"]];
    expect(await results()).toEqual([hurried]);
    clock.advance(59_500);
    const usual = ["usual", ["TIMEOUT", "never did not answer within 60 s"]];
    expect(await results()).toEqual([hurried, usual]);
    const cancels = channel.messages.filter(({ method }) => method === "$/cancelRequest");
    expect(cancels).toHaveLength(2);
    clock.advance(1e8);
    await turn();
    expect(service.running.size).toBe(2);
    channel.hear({ jsonrpc: "2.0", method: "wrong", id: "wrong" });
    await turn();
    expect(channel.messages.at(-1)).toMatchObject({ id: "wrong", error: { code: -32603 } });
  });

  test("may share a batch with replies", async () => {
    const heard: unknown[] = [];
    const { channel, connection } = serve({ echo, hear: (value: unknown) => heard.push(value) });
    const call = connection.call("theirs");
    const [id] = channel.ids;
    channel.hear([
      { jsonrpc: "2.0", method: "echo", params: ["a"], id },
      { jsonrpc: "2.0", result: "reply", id },
      { jsonrpc: "2.0", method: "hear", params: ["b"] },
      { jsonrpc: "2.0", result: "nobody's", id: "none" },
      1,
      { jsonrpc: "2.0", method: "echo", params: ["c"], id: "c" },
    ]);
    expect(await call).toBe("reply");
    expect(heard).toEqual(["b"]);
    expect(channel.messages[1]).toEqual([
      { jsonrpc: "2.0", result: "a", id },
      expect.objectContaining({ error: expect.objectContaining({ code: -32600 }), id: null }),
      { jsonrpc: "2.0", result: "c", id: "c" },
    ]);
  });

  test("keep ids that JavaScript cannot hold", () => {
    const { channel } = serve({ echo });
    channel.hear('{"jsonrpc":"2.0","method":"echo","params":[1],"id":12345678901234567890}');
    channel.hear('[{"jsonrpc":"2.0","method":"echo","params":[2],"id":12345678901234567890}]');
    expect(channel.sent).toEqual([
      '{"jsonrpc":"2.0","result":1,"id":12345678901234567890}',
      '[{"jsonrpc":"2.0","result":2,"id":12345678901234567890}]',
    ]);
  });

  test("over the limit of calls in flight are refused at once", async () => {
    const { channel } = serve(
      { wait: () => new Promise(() => {}), echo },
      { limits: { maxInFlight: 2 } },
    );
    for (const id of [1, 2, 3]) channel.hear({ jsonrpc: "2.0", method: "wait", id });
    expect(channel.messages).toEqual([
      {
        jsonrpc: "2.0",
        error: {
          code: -32005,
          message: "Server busy",
          data: { ran: false, reason: "busy", retryAfterMs: 1000 },
        },
        id: 3,
      },
    ]);
  });

  test("replies, even unexpected ones, are not answered", () => {
    const { channel } = serve({ echo });
    channel.hear([{ jsonrpc: "2.0", result: 1, id: "x" }]);
    channel.hear([
      { jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } },
      { jsonrpc: "2.0", method: "unknown" },
    ]);
    expect(channel.sent).toEqual([]);
    channel.hear([]);
    expect(channel.messages).toMatchObject([{ error: { code: -32600 }, id: null }]);
  });
});

describe("messages that belong to calls", () => {
  test("a cancellation of a call that does not run is ignored", () => {
    const { channel, connection } = serve({ echo });
    for (const params of [
      { id: 1 },
      { id: "x" },
      { id: null },
      { id: {} },
      {},
      [],
      [1],
      undefined,
    ]) {
      channel.hear({ jsonrpc: "2.0", method: "$/cancelRequest", params });
    }
    expect(channel.sent).toEqual([]);
    expect(connection.isOpen).toBe(true);
  });

  test("a cancellation ends the call of its sender, not one with the same id", async () => {
    const signals: AbortSignal[] = [];
    const methods = {
      wait: method({}, (_, call) => {
        signals.push(call.signal);
        return new Promise(() => {});
      }),
    };
    const service = createServer(methods, { log: silentLog });
    const [one, other] = [new HandChannel(), new HandChannel()];
    for (const channel of [one, other]) new Connection(channel, { service, transport });
    one.hear({ jsonrpc: "2.0", method: "wait", id: 1 });
    other.hear({ jsonrpc: "2.0", method: "wait", id: 1 });
    for (const [sender, aborted] of [
      [one, [true, false]],
      [other, [true, true]],
    ] as const) {
      sender.hear({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
      await turn();
      expect(signals.map((signal) => signal.aborted)).toEqual(aborted);
      expect(sender.messages).toMatchObject([{ error: { code: -32800 }, id: 1 }]);
    }
  });

  test("a cancelled call is not answered again when its time is over", async () => {
    const clock = new FakeClock();
    const methods = { hold: () => new Promise(() => {}) };
    const { channel } = serve(methods, { clock, timeoutMs: 1_000 });
    channel.hear({ jsonrpc: "2.0", method: "hold", id: 1 });
    channel.hear({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
    clock.advance(10_000);
    await turn();
    expect(channel.messages).toMatchObject([{ id: 1, error: { code: -32800 } }]);
  });

  test("a cancellation ends a call of a batch that has not begun, beside one that is none", async () => {
    const open: ((value: string) => void)[] = [];
    const hold = () => new Promise((resolve) => open.push(resolve));
    const { channel } = serve({ hold }, { limits: { maxBatchConcurrency: 1 } });
    const call = (id: number) => ({ jsonrpc: "2.0", method: "hold", id });
    channel.hear([call(1), null, call(2)]);
    channel.hear({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 2 } });
    open[0]?.("done");
    await turn();
    const [replies] = channel.messages as unknown as [{ id: unknown }[]];
    expect(replies).toMatchObject([{ id: 1, result: "done" }, { id: null }, { id: 2, error: {} }]);
    expect(open).toHaveLength(1);
  });

  test("an unknown request that begins with $/ is an unknown method", () => {
    const { channel } = serve({ echo });
    channel.hear({ jsonrpc: "2.0", method: "$/unknown", id: 1 });
    channel.hear({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 5 }, id: 2 });
    expect(channel.messages).toMatchObject([
      { error: { code: -32601 }, id: 1 },
      { error: { code: -32601 }, id: 2 },
    ]);
  });

  test("an unknown notification that begins with $/ is ignored", () => {
    const { channel, connection } = serve({ echo });
    channel.hear({ jsonrpc: "2.0", method: "$/unknown", params: { any: "thing" } });
    channel.hear({ jsonrpc: "2.0", method: "$" });
    expect(channel.sent).toEqual([]);
    expect(connection.isOpen).toBe(true);
  });

  test("garbage in them breaks nothing", async () => {
    const { channel, connection, client } = serve({
      numbers: stream({}, async function* () {
        for (let i = 0; ; i++) yield i;
      }),
    });
    const progress: unknown[] = [];
    const call = client.call("theirs", [], { onProgress: (value) => progress.push(value) });
    const [id] = channel.ids;
    channel.hear({ jsonrpc: "2.0", method: "numbers", id: "s" });
    const wrong = [
      undefined,
      [],
      [1, 2],
      {},
      { id: null },
      { id: {} },
      { id: "unknown" },
      { token: [] },
    ];
    for (const name of ["$/stream", "$/progress", "$/credit"]) {
      for (const params of wrong) channel.hear({ jsonrpc: "2.0", method: name, params });
    }
    for (const count of [-5, 0, "9", null, Number.NaN, {}]) {
      channel.hear({ jsonrpc: "2.0", method: "$/credit", params: { id: "s", count } });
    }
    channel.hear({ jsonrpc: "2.0", method: "$/progress", params: { token: id } });
    channel.hear({ jsonrpc: "2.0", method: "$/progress", params: { token: id, value: 0.5 } });
    channel.hear({ jsonrpc: "2.0", result: "fine", id });
    expect(await call).toBe("fine");
    expect(progress).toEqual([undefined, 0.5]);
    await connection.close();
  });

  test("an item for a call that is not read as a stream does not disturb the result", async () => {
    const { channel, client } = serve({});
    const call = client.call("theirs");
    const [id] = channel.ids;
    channel.hear({ jsonrpc: "2.0", method: "$/stream", params: { id, value: 1 } });
    channel.hear({ jsonrpc: "2.0", result: "whole", id });
    expect(await call).toBe("whole");
    channel.hear({ jsonrpc: "2.0", method: "$/stream", params: { id, value: 2 } });
    expect(channel.messages.at(-1)).toMatchObject({ method: "$/credit" });
  });

  test("a listener for progress that throws does not break the connection", async () => {
    const errors: unknown[] = [];
    const log: Log = { ...silentLog, error: (fields) => errors.push(fields) };
    const channel = new HandChannel();
    const connection = new Connection(channel, { transport, log });
    const onProgress = (): never => {
      throw new Error("in the listener");
    };
    const call = createClient(connection, { log }).call("theirs", [], { onProgress });
    const [id] = channel.ids;
    channel.hear({ jsonrpc: "2.0", method: "$/progress", params: { token: id, value: 1 } });
    channel.hear({ jsonrpc: "2.0", result: "fine", id });
    expect(await call).toBe("fine");
    expect(errors).toHaveLength(1);
  });
});
