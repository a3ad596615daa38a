import {
  createClient,
  createServer,
  failure,
  type Middleware,
  method,
  RpcError,
  retry,
  silentLog,
  success,
  WireError,
} from "callwire";
import { memoryPair } from "callwire/connection";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { turn } from "../transports/contract-methods.ts";
import { HandLink, parrot } from "./hand-link.ts";

const methods = {
  add: method({ params: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => a + b),
  echo: (value: string) => value,
  later: async (value: string) => value,
  fail: (code: number) => {
    throw new RpcError(code, "failed");
  },
};
type Methods = typeof methods;

function overMemory() {
  const [near] = memoryPair(undefined, createServer(methods, { log: silentLog }));
  return createClient<Methods>(near);
}

describe("a batch", () => {
  test("gives the result of each call in its place", async () => {
    const [sum, text, late] = await overMemory().batch((b) => [
      b.add({ a: 1, b: 2 }),
      b.echo("hi"),
      b.later("bye"),
    ]);
    expect([sum, text, late]).toEqual([3, "hi", "bye"]);
  });

  test("leaves as one payload, in order", async () => {
    const link = new HandLink(parrot);
    await createClient<Methods>(link).batch((b) => [b.echo("a"), b.add({ a: 1, b: 2 })]);
    const ids = link.calls.map(({ request }) => request.id);
    expect(link.written).toEqual([
      [
        { jsonrpc: "2.0", method: "echo", params: ["a"], id: ids[0] },
        { jsonrpc: "2.0", method: "add", params: { a: 1, b: 2 }, id: ids[1] },
      ],
    ]);
  });

  test("of one call is still a batch", async () => {
    const link = new HandLink(parrot);
    await createClient<Methods>(link).batch((b) => [b.echo("only")]);
    expect(link.written).toEqual([[expect.objectContaining({ method: "echo" })]]);
  });

  test("of no call is not sent", async () => {
    const link = new HandLink(parrot);
    expect(await createClient<Methods>(link).batch(() => [])).toEqual([]);
    expect(link.payloads).toEqual([]);
  });

  test("rejects with the first failure", async () => {
    const batch = overMemory().batch((b) => [b.echo("fine"), b.fail(7), b.fail(8)]);
    await expect(batch).rejects.toEqual(new RpcError(7, "failed"));
  });

  test("can tell how each call ended", async () => {
    const outcomes = await overMemory().batchSettled((b) => [
      b.echo("fine"),
      b.fail(7),
      b.later("x"),
    ]);
    expect(outcomes).toEqual([
      { status: "fulfilled", value: "fine" },
      { status: "rejected", reason: new RpcError(7, "failed") },
      { status: "fulfilled", value: "x" },
    ]);
  });

  test("waits for middleware that takes its time, and goes out once", async () => {
    const link = new HandLink(parrot);
    const waiting: (() => void)[] = [];
    const hold: Middleware = (next) => async (request, context) => {
      if (request.method === "later") await new Promise<void>((resolve) => waiting.push(resolve));
      return next(request, context);
    };
    const client = createClient<Methods>(link, { use: [hold] });
    const batch = client.batch((b) => [b.later("a"), b.echo("b"), b.later("c")]);
    await turn();
    expect(link.payloads).toEqual([]);
    waiting[0]?.();
    await turn();
    expect(link.payloads).toEqual([]);
    waiting[1]?.();
    expect(await batch).toHaveLength(3);
    expect(link.payloads).toHaveLength(1);
    expect(link.methods.toSorted()).toEqual(["echo", "later", "later"]);
  });

  test("leaves without a call that middleware answered itself", async () => {
    const link = new HandLink(parrot);
    const cache: Middleware = (next) => (request, context) =>
      request.method === "echo" ? success("from the cache") : next(request, context);
    const client = createClient<Methods>(link, { use: [cache] });
    const results = await client.batch((b) => [b.echo("a"), b.later("b")]);
    expect(results).toEqual(["from the cache", ["later", ["b"]]]);
    expect(link.methods).toEqual(["later"]);
  });

  test("that middleware answers as a whole is not sent", async () => {
    const link = new HandLink(parrot);
    const cache: Middleware = () => () => success("from the cache");
    const client = createClient<Methods>(link, { use: [cache] });
    expect(await client.batch((b) => [b.echo("a"), b.later("b")])).toEqual([
      "from the cache",
      "from the cache",
    ]);
    expect(link.payloads).toEqual([]);
  });

  test("leaves without a call that middleware refused", async () => {
    const link = new HandLink(parrot);
    const refuse: Middleware = (next) => (request, context) => {
      if (request.method === "echo") throw new Error("not now");
      return next(request, context);
    };
    const client = createClient<Methods>(link, { use: [refuse] });
    const outcomes = await client.batchSettled((b) => [b.echo("a"), b.later("b")]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect(link.methods).toEqual(["later"]);
  });

  test("leaves without a call that was cancelled before", async () => {
    const link = new HandLink(parrot);
    const clock = new FakeClock();
    const release: (() => void)[] = [];
    const hold: Middleware = (next) => async (request, context) => {
      if (request.method === "later") await new Promise<void>((resolve) => release.push(resolve));
      return next(request, context);
    };
    const client = createClient<Methods>(link, { use: [hold], clock, timeoutMs: 100 });
    const batch = client.batchSettled((b) => [b.echo("a"), b.later("b")]);
    await turn();
    clock.advance(120);
    release[0]?.();
    const outcomes = await batch;
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "TIMEOUT" } });
    }
    await turn();
    expect(link.payloads).toEqual([]);
  });

  test("with a call that is retried does not wait for the others", async () => {
    const clock = new FakeClock();
    const link = new HandLink((request) =>
      request.method === "echo" && link.payloads.length === 1
        ? failure({ code: -32005, message: "Server busy", data: { ran: false, reason: "busy" } })
        : success(request.method),
    );
    const client = createClient<Methods>(link, {
      use: [retry({ clock, delayMs: 100, random: () => 1 })],
      idempotent: ["echo"],
    });
    const batch = client.batch((b) => [b.echo("a"), b.later("b")]);
    await turn();
    clock.advance(100);
    expect(await batch).toEqual(["echo", "later"]);
    expect(link.payloads).toHaveLength(2);
  });

  test("whose function throws sends nothing and leaves nothing behind", async () => {
    const link = new HandLink(parrot);
    const client = createClient<Methods>(link);
    const broken = () =>
      client.batch((b) => {
        void b.echo("a");
        throw new Error("no batch");
      });
    expect(broken).toThrow("no batch");
    await turn();
    expect(link.payloads).toEqual([]);
  });

  test("over the limit of the server fails each of its calls", async () => {
    const service = createServer(methods, { limits: { maxBatch: 2 } });
    const [near] = memoryPair(undefined, service);
    const client = createClient<Methods>(near);
    const outcomes = await client.batchSettled((b) => [b.echo("a"), b.echo("b"), b.echo("c")]);
    const reason = {
      code: -32600,
      data: { limit: "maxBatch", max: 2, details: "a batch must have at most 2 requests" },
    };
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason });
    }
    expect(await client.batch((b) => [b.echo("a"), b.echo("b")])).toEqual(["a", "b"]);
  });

  test("over a link that throws rejects every call", async () => {
    const link = new HandLink();
    link.sendBatch = () => {
      throw new WireError("UNSUPPORTED", "no batches here");
    };
    const outcomes = await createClient<Methods>(link).batchSettled((b) => [
      b.echo("a"),
      b.echo("b"),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "UNSUPPORTED" } });
    }
  });

  test("over a link that forgets a call rejects that call", async () => {
    const link = new HandLink();
    link.sendBatch = () => [Promise.resolve(success("first"))];
    const outcomes = await createClient<Methods>(link).batchSettled((b) => [
      b.echo("a"),
      b.echo("b"),
    ]);
    expect(outcomes).toMatchObject([
      { status: "fulfilled", value: "first" },
      { status: "rejected", reason: { name: "WireError", code: "BAD_REPLY" } },
    ]);
  });
});
