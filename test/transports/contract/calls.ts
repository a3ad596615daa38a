import { ErrorCode, RpcError } from "callwire";
import { describe, expect, test } from "vitest";
import { Session, type Wire } from "./wire.ts";

/** Calls in both directions, and what they carry. */
export function testCalls(wire: Wire): void {
  const { duplex = true, inFlight = 1000 } = wire;

  describe("calls", () => {
    test("many calls in flight are paired with their answers, whatever the order", async () => {
      const client = await (await Session.start(wire)).client();
      const order: number[] = [];
      const results = await Promise.all(
        Array.from({ length: inFlight }, async (_, value) => {
          const result = await client.api.gather({ key: "all", count: inFlight, value });
          order.push(value);
          return result;
        }),
      );
      expect(results).toEqual(Array.from({ length: inFlight }, (_, value) => value));
      // Requests that travel separately arrive in any order; on one wire the server's order is
      // kept.
      if (duplex) expect(order).toEqual(results.toReversed());
    });

    test("results that are easily lost arrive as they are", async () => {
      const client = await (await Session.start(wire)).client();
      for (const value of [null, false, 0, "", [], {}, [null], { a: { b: [] } }]) {
        expect(await client.call("echo", [value])).toEqual(value);
      }
    });

    test("long texts with characters of several bytes stay whole in both directions", async () => {
      const client = await (await Session.start(wire)).client();
      for (const text of ["é", "世", "😀", "a😀", '"\\\n\u2028\u0000', "\ud800"]) {
        const long = text.repeat(Math.ceil(65_536 / text.length));
        expect(await client.call("echo", [long])).toBe(long);
      }
    });

    test("a reply may be longer than a request", async () => {
      const session = await Session.start(wire, { maxMessageBytes: 1024 });
      const client = await session.client();
      const reply = await client.call("repeat", ["grüße ", 500_000]);
      expect(reply).toBe("grüße ".repeat(500_000));
    });

    test("many long replies at once do not make an active reader count as slow", async () => {
      const client = await (await Session.start(wire)).client();
      const calls = Array.from({ length: 200 }, () => client.call("repeat", ["x", 65_536]));
      for (const reply of await Promise.all(calls)) expect(reply).toHaveLength(65_536);
    });

    test("errors arrive with code, message and data", async () => {
      const client = await (await Session.start(wire)).client();
      await expect(client.api.fail()).rejects.toEqual(
        new RpcError(1001, "Refused", { reason: "because" }),
      );
      await expect(client.api.crash()).rejects.toEqual(new RpcError(-32603, "Internal error"));
      await expect(client.call<unknown>("no/such")).rejects.toMatchObject({
        code: ErrorCode.MethodNotFound,
      });
      await expect(client.call<unknown>("hold", { key: 1 })).rejects.toMatchObject({
        code: ErrorCode.InvalidParams,
      });
    });

    test("a batch travels whole, and an entry that fails fails alone", async () => {
      const client = await (await Session.start(wire)).client();
      const outcomes = await client.batchSettled((b) => [
        b.echo("first"),
        b.fail(),
        b.gather({ key: "one", count: 1, value: 3 }),
      ]);
      expect(outcomes).toEqual([
        { status: "fulfilled", value: "first" },
        { status: "rejected", reason: new RpcError(1001, "Refused", { reason: "because" }) },
        { status: "fulfilled", value: 3 },
      ]);
    });

    test("notifications arrive, in the order in which they were sent", async () => {
      const client = await (await Session.start(wire)).client();
      const sent = Array.from({ length: duplex ? 200 : 1 }, (_, i) => i);
      await Promise.all(sent.map((i) => client.notify("tell", [i])));
      const told = () => client.api.told();
      // Behind a gateway, messages that are sent without a connection may overtake each other.
      if (duplex) expect(await told()).toEqual(sent);
      else await expect.poll(told).toEqual(sent);
    });
  });

  if (!duplex) return;

  describe("both directions", () => {
    test("a handler calls its caller while its own call is open", async () => {
      const client = await (await Session.start(wire)).client();
      expect(await client.api.back({ method: "twice", params: [21] })).toBe(42);
    });

    test("an error of the caller reaches the handler", async () => {
      const client = await (await Session.start(wire)).client();
      await expect(client.api.back({ method: "refuse" })).rejects.toEqual(
        new RpcError(1003, "Not here", { by: "client" }),
      );
      await expect(client.api.back({ method: "no/such" })).rejects.toMatchObject({
        code: ErrorCode.MethodNotFound,
      });
    });

    test("calls nest through both peers without a deadlock", async () => {
      const client = await (await Session.start(wire)).client();
      expect(await client.api.nest({ depth: 20 })).toBe(20);
      const many = Array.from({ length: 50 }, (_, i) => i % 10);
      expect(await Promise.all(many.map((depth) => client.api.nest({ depth })))).toEqual(many);
    });

    test("a server pushes notifications, in order and before the reply", async () => {
      const heard: unknown[] = [];
      const session = await Session.start(wire);
      const client = await session.client({ pushed: (value: unknown) => void heard.push(value) });
      expect(await client.api.push({ count: 200 })).toBe(200);
      expect(heard).toEqual(Array.from({ length: 200 }, (_, i) => i));
    });
  });
}
