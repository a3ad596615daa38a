import { createClient, RpcError, silentLog, WireError } from "callwire";
import { Connection } from "callwire/connection";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { HandChannel, transport } from "../connection/hand-channel.ts";
import { turn } from "../transports/contract-methods.ts";
import { HandLink } from "./hand-link.ts";

type Methods = Record<"a" | "b" | "c", () => Promise<unknown>> &
  Record<string, () => Promise<unknown>>;

/** A client on a wire whose other side is the test. */
function overWire() {
  const clock = new FakeClock();
  const channel = new HandChannel();
  const connection = new Connection(channel, { transport, log: silentLog });
  const client = createClient<Methods>(connection, { clock, timeoutMs: 1_000, log: silentLog });
  return { clock, channel, connection, client };
}

const invalid = { code: -32600, message: "Invalid Request" };

describe("every promise settles", () => {
  test("when the reply has no id", async () => {
    const { channel, client } = overWire();
    const call = client.api.a();
    channel.hear({ jsonrpc: "2.0", error: invalid, id: null });
    await expect(call).rejects.toEqual(new RpcError(-32600, "Invalid Request"));
  });

  test("when a batch is refused as a whole", async () => {
    const { channel, client } = overWire();
    const batch = client.batchSettled((b) => [b.a(), b.b()]);
    channel.hear({ jsonrpc: "2.0", error: invalid, id: null });
    for (const outcome of await batch) {
      expect(outcome).toMatchObject({
        status: "rejected",
        reason: { code: "BAD_REPLY", cause: { code: -32600 } },
      });
    }
  });

  test("when a batch gets too few replies", async () => {
    const { clock, channel, client } = overWire();
    const batch = client.batchSettled((b) => [b.a(), b.b()]);
    const [, second] = channel.ids;
    channel.hear([{ jsonrpc: "2.0", result: "second", id: second }]);
    await turn();
    clock.advance(1_100);
    expect(await batch).toMatchObject([
      { status: "rejected", reason: { code: "TIMEOUT" } },
      { status: "fulfilled", value: "second" },
    ]);
  });

  test("when a batch gets too many replies", async () => {
    const { channel, client } = overWire();
    const batch = client.batch((b) => [b.a(), b.b()]);
    const [first, second] = channel.ids;
    channel.hear([
      { jsonrpc: "2.0", result: "unasked", id: "x" },
      { jsonrpc: "2.0", result: "second", id: second },
      { jsonrpc: "2.0", result: "first", id: first },
      { jsonrpc: "2.0", result: "again", id: first },
    ]);
    expect(await batch).toEqual(["first", "second"]);
  });

  test("when the reply is not JSON-RPC", async () => {
    const { clock, channel, client } = overWire();
    const broken = client.api.a();
    channel.hear({ id: channel.ids[0], error: 5, jsonrpc: "2.0" });
    await expect(broken).rejects.toMatchObject({ name: "WireError", code: "BAD_REPLY" });
    const unanswered = client.api.b();
    for (const text of ["hello", "5", "null", "[1]", "{}", `{"id":${channel.ids.at(-1)}}`]) {
      channel.hear(text);
    }
    clock.advance(1_100);
    await expect(unanswered).rejects.toMatchObject({ name: "WireError", code: "TIMEOUT" });
  });

  test("when the link never answers", async () => {
    const clock = new FakeClock();
    const client = createClient<Methods>(new HandLink(), { clock, timeoutMs: 1_000 });
    const calls = Promise.allSettled([
      client.api.a(),
      client.notify("n"),
      client.batch((b) => [b.b(), b.c()]),
    ]);
    await turn();
    clock.advance(1_100);
    const [call, notification, batch] = await calls;
    expect(notification.status).toBe("fulfilled");
    for (const outcome of [call, batch]) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "TIMEOUT" } });
    }
  });

  test("when the link throws instead of giving a promise", async () => {
    const link = new HandLink();
    link.send = () => {
      throw new WireError("CONNECTION_FAILED", "at once");
    };
    const client = createClient<Methods>(link);
    await expect(client.api.a()).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    await expect(client.notify("a")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    const items = client.stream("items")[Symbol.asyncIterator]();
    await expect(items.next()).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
  });

  test("when the link throws something that is not an error", async () => {
    const link = new HandLink(() => {
      throw "text";
    });
    await expect(createClient<Methods>(link).api.a()).rejects.toBe("text");
  });

  test("when the wire closes, here or there", async () => {
    const there = overWire();
    const call = there.client.api.a();
    there.channel.listener.end();
    await expect(call).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    const here = overWire();
    const other = here.client.api.a();
    await here.client.close();
    await expect(other).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("when the params cannot be written, and nothing is sent", async () => {
    const { channel, connection, client } = overWire();
    await expect(client.call("a", [1n])).rejects.toThrow(TypeError);
    await expect(client.notify("a", { value: 1n })).rejects.toThrow(TypeError);
    const batch = createClient<{ m: (value: unknown) => unknown }>(connection).batchSettled((b) => [
      b.m(1n),
      b.m("fine"),
    ]);
    for (const outcome of await batch) expect(outcome.status).toBe("rejected");
    expect(channel.sent).toEqual([]);
    expect(connection.pending).toBe(0);
  });

  test("once, whatever arrives afterwards", async () => {
    const { clock, channel, client } = overWire();
    const controller = new AbortController();
    const call = client.call("a", [], { signal: controller.signal });
    channel.hear({ jsonrpc: "2.0", result: "first", id: channel.ids[0] });
    await turn();
    controller.abort();
    clock.advance(5_000);
    channel.listener.end(new Error("broken"));
    expect(await call).toBe("first");
  });
});
