import { createClient, defaultLimits, type Log, RpcError, silentLog } from "callwire";
import { Connection } from "callwire/connection";
import { describe, expect, test } from "vitest";
import { HandChannel, transport } from "./hand-channel.ts";

type Any = Record<"a" | "b" | "c" | "d", () => Promise<unknown>>;

function open(log: Log = silentLog) {
  const channel = new HandChannel();
  const connection = new Connection(channel, { transport, log });
  return { channel, connection, client: createClient<Any>(connection) };
}

/** A peer that accepts only short calls, and somewhat longer replies. */
function narrow() {
  const channel = new HandChannel();
  const connection = new Connection(channel, {
    transport,
    log: silentLog,
    limits: { ...defaultLimits, maxMessageBytes: 100, maxReplyLength: 1000 },
  });
  return { channel, connection };
}

const methodNotFound = { code: -32601, message: "Method not found" };

describe("replies", () => {
  test("are paired by id, whatever their order", async () => {
    const { channel, connection } = open();
    const calls = ["a", "b", "c"].map((method) => connection.call(method));
    const [a, b, c] = channel.ids;
    channel.hear({ jsonrpc: "2.0", result: "for c", id: c });
    channel.hear({ jsonrpc: "2.0", error: { code: 1, message: "for a" }, id: a });
    channel.hear({ jsonrpc: "2.0", result: null, id: b });
    await expect(calls[0]).rejects.toEqual(new RpcError(1, "for a"));
    expect(await calls[1]).toBe(null);
    expect(await calls[2]).toBe("for c");
    expect(connection.pending).toBe(0);
  });

  test.each([
    ["no such method", "no such method"],
    [[21, "Job not found", null], "Error"],
  ])("of 1.0 may have an error of any form: %j", async (error, message) => {
    const { channel, connection } = open();
    const call = connection.call("a");
    channel.hear({ result: null, error, id: channel.ids[0] });
    await expect(call).rejects.toEqual(new RpcError(-32000, message, error));
  });

  test("to a batch are paired by id, in one array, in several, or one by one", async () => {
    const { channel, client } = open();
    const batch = client.batch((b) => [b.a(), b.b(), b.c(), b.d()]);
    const [a, b, c, d] = channel.ids;
    channel.hear([
      { jsonrpc: "2.0", result: 4, id: d },
      { jsonrpc: "2.0", result: 2, id: b },
    ]);
    channel.hear({ jsonrpc: "2.0", result: 3, id: c });
    channel.hear([{ jsonrpc: "2.0", result: 1, id: a }]);
    expect(await batch).toEqual([1, 2, 3, 4]);
  });

  test("that no call waits for are ignored", async () => {
    const debug: object[] = [];
    const { channel, connection } = open({ ...silentLog, debug: (fields) => debug.push(fields) });
    const call = connection.call("a");
    const [id] = channel.ids;
    channel.hear({ jsonrpc: "2.0", result: "unasked", id: "never sent" });
    channel.hear({ jsonrpc: "2.0", result: "another type", id: String(id) });
    channel.hear({ jsonrpc: "2.0", result: "first", id });
    channel.hear({ jsonrpc: "2.0", result: "second", id });
    channel.hear({ jsonrpc: "2.0", error: methodNotFound, id });
    expect(await call).toBe("first");
    expect(debug).toHaveLength(4);
    expect(channel.sent).toHaveLength(1);
    expect(connection.isOpen).toBe(true);
  });

  test("to a notification are ignored", () => {
    const { channel, connection } = open();
    expect(connection.notify("told", [1])).toBe(true);
    channel.hear({ jsonrpc: "2.0", result: "thanks", id: null });
    channel.hear({ jsonrpc: "2.0", error: methodNotFound, id: null });
    expect(channel.sent).toEqual(['{"jsonrpc":"2.0","method":"told","params":[1]}']);
    expect(connection.isOpen).toBe(true);
  });

  test("without an id fail the only open call with their error", async () => {
    for (const id of [null, undefined]) {
      const { channel, connection } = open();
      const call = connection.call("a");
      channel.hear({ jsonrpc: "2.0", error: { code: -32700, message: "Parse error" }, id });
      await expect(call).rejects.toEqual(new RpcError(-32700, "Parse error"));
    }
  });

  test("without an id fail all open calls, because one of them failed", async () => {
    const { channel, connection } = open();
    const calls = [connection.call("a"), connection.call("b")];
    channel.hear({ jsonrpc: "2.0", error: { code: -32600, message: "Invalid Request" }, id: null });
    for (const call of calls) {
      await expect(call).rejects.toMatchObject({
        name: "WireError",
        code: "BAD_REPLY",
        cause: new RpcError(-32600, "Invalid Request"),
      });
    }
    expect(connection.pending).toBe(0);
  });

  test("without an id and without an error belong to no call", async () => {
    const { channel, connection } = open();
    const call = connection.call("a");
    channel.hear({ jsonrpc: "2.0", result: "whose?", id: null });
    expect(connection.pending).toBe(1);
    channel.hear({ jsonrpc: "2.0", result: "mine", id: channel.ids[0] });
    expect(await call).toBe("mine");
  });

  test("that are not JSON-RPC fail their call", async () => {
    const broken = [
      { error: "text" },
      { error: { code: "1", message: "code is text" } },
      { error: { code: 1.5, message: "code is a fraction" } },
      { error: { code: 1 } },
      { error: [] },
      { error: false },
      { error: null },
    ];
    for (const members of broken) {
      const { channel, connection } = open();
      const call = connection.call("a");
      channel.hear({ jsonrpc: "2.0", ...members, id: channel.ids[0] });
      await expect(call).rejects.toMatchObject({ name: "WireError", code: "BAD_REPLY" });
    }
  });

  test("of version 1.0 have both members, one of which is null", async () => {
    const { channel, connection } = open();
    const fine = connection.call("a");
    const refused = connection.call("b");
    const [a, b] = channel.ids;
    channel.hear({ result: 0, error: null, id: a });
    channel.hear({ result: null, error: { code: 5, message: "no" }, id: b });
    expect(await fine).toBe(0);
    await expect(refused).rejects.toEqual(new RpcError(5, "no"));
  });

  test("longer than a call may be are accepted", async () => {
    const { channel, connection } = narrow();
    const call = connection.call("a");
    channel.hear({ jsonrpc: "2.0", result: "x".repeat(900), id: channel.ids[0] });
    expect(await call).toHaveLength(900);
  });

  test("longer than this end accepts fail what they can belong to", async () => {
    const { channel, connection } = narrow();
    const call = connection.call("a");
    channel.hear({ jsonrpc: "2.0", result: "x".repeat(1001), id: channel.ids[0] });
    await expect(call).rejects.toMatchObject({ name: "WireError", code: "TOO_LARGE" });
    const next = connection.call("b");
    channel.listener.fault({ kind: "oversize", message: "a frame is too long" });
    await expect(next).rejects.toMatchObject({ name: "WireError", code: "TOO_LARGE" });
  });
});

describe("giving up", () => {
  test("a cancelled call fails at once, and the peer is notified", async () => {
    const { channel, connection } = open();
    const controller = new AbortController();
    const call = connection.call("a", [1], { signal: controller.signal });
    const [id] = channel.ids;
    controller.abort("enough");
    await expect(call).rejects.toMatchObject({ code: "ABORTED", cause: "enough" });
    expect(channel.messages[1]).toEqual({
      jsonrpc: "2.0",
      method: "$/cancelRequest",
      params: { id },
    });
    channel.hear({ jsonrpc: "2.0", result: "late", id });
    expect(connection.isOpen).toBe(true);
  });

  test("a call whose signal has aborted is not sent", async () => {
    const { channel, connection } = open();
    const call = connection.call("a", [], { signal: AbortSignal.abort("before") });
    await expect(call).rejects.toMatchObject({ code: "ABORTED", cause: "before" });
    expect(channel.sent).toEqual([]);
  });

  test("a signal that aborts after the reply cancels nothing", async () => {
    const { channel, connection } = open();
    const controller = new AbortController();
    const call = connection.call("a", [], { signal: controller.signal });
    channel.hear({ jsonrpc: "2.0", result: 1, id: channel.ids[0] });
    expect(await call).toBe(1);
    controller.abort();
    expect(channel.sent).toHaveLength(1);
  });

  test("params that JSON cannot hold fail their call alone, and nothing is sent", async () => {
    const { channel, connection, client } = open();
    const circular: unknown[] = [];
    circular.push(circular);
    await expect(connection.call("a", [1n])).rejects.toBeInstanceOf(TypeError);
    await expect(connection.call("a", circular)).rejects.toBeInstanceOf(TypeError);
    await expect(client.notify("a", [1n])).rejects.toBeInstanceOf(TypeError);
    expect(() => connection.notify("a", [1n])).toThrow(TypeError);
    expect(channel.sent).toEqual([]);
    expect(connection.pending).toBe(0);
  });
});
