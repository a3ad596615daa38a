import { getEventListeners } from "node:events";
import {
  type CallOptions,
  createClient,
  createServer,
  type Middleware,
  method,
  success,
} from "callwire";
import { memoryPair } from "callwire/connection";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { turn } from "../transports/contract-methods.ts";
import { emptyStream, HandLink, parrot } from "./hand-link.ts";

/** How coarse the shared timer of all timeouts is. */
const tickMs = 10;

/** "open", or the code that the promise was rejected with. */
async function stateOf(call: Promise<unknown>): Promise<unknown> {
  const code = call.then(
    () => "answered",
    (error: { code?: unknown }) => error.code,
  );
  return Promise.race([code, turn().then(() => "open")]);
}

function setUp(timeoutMs?: number) {
  const clock = new FakeClock(1_000_000);
  const link = new HandLink();
  const client = createClient(link, timeoutMs === undefined ? { clock } : { clock, timeoutMs });
  return { clock, link, client };
}

describe("a timeout", () => {
  test("sets no timer that outlives the calls, and also applies to later calls", async () => {
    const clock = new FakeClock(1_000_000);
    const server = createServer({ quick: () => "done", slow: () => new Promise(() => {}) });
    const [, link] = memoryPair(server, undefined);
    const client = createClient(link, { clock });
    expect(await client.call("quick")).toBe("done");
    clock.advance(tickMs);
    clock.advance(tickMs);
    expect(clock.waiting).toBe(0);
    const call = client.call("slow");
    clock.advance(60_000 - 1);
    expect(await stateOf(call)).toBe("open");
    clock.advance(1 + tickMs);
    await expect(call).rejects.toMatchObject({ code: "TIMEOUT" });
  });

  test("ends a call without a reply, after 60 seconds by default", async () => {
    for (const timeoutMs of [undefined, 5_000]) {
      const { clock, client } = setUp(timeoutMs);
      const call = client.call("slow");
      clock.advance((timeoutMs ?? 60_000) - 1);
      expect(await stateOf(call)).toBe("open");
      clock.advance(1 + tickMs);
      await expect(call).rejects.toMatchObject({
        name: "WireError",
        code: "TIMEOUT",
        message: `slow did not answer within ${(timeoutMs ?? 60_000) / 1000} s`,
      });
    }
  });

  test.each([-1, Number.NaN, "5", "x"])("of %j is refused wherever it is given", async (given) => {
    const timeoutMs = given as number;
    const refusal = new TypeError(`timeoutMs must be a number of at least 0, not ${given}`);
    const { link, client } = setUp();
    expect(() => createClient(link, { timeoutMs })).toThrow(refusal);
    expect(() => client.with({ timeoutMs })).toThrow(refusal);
    await expect(client.call("m", [], { timeoutMs })).rejects.toThrow(refusal);
    await expect(client.notify("m", [], { timeoutMs })).rejects.toThrow(refusal);
    const items = client.stream("m", [], { timeoutMs })[Symbol.asyncIterator]();
    await expect(items.next()).rejects.toThrow(refusal);
    expect(link.calls).toEqual([]);
  });

  test("of the call replaces that of the client, and is the only one that is sent", async () => {
    const { clock, link, client } = setUp(5_000);
    const plain = client.call("plain");
    const own = client.call("own", [], { timeoutMs: 100 });
    expect(link.calls.map(({ request }) => request.timeoutMs)).toEqual([undefined, 100]);
    clock.advance(100 + tickMs);
    expect(await stateOf(own)).toBe("TIMEOUT");
    expect(await stateOf(plain)).toBe("open");
    clock.advance(5_000);
    expect(await stateOf(plain)).toBe("TIMEOUT");
  });

  test("can be switched off", async () => {
    const { clock, link, client } = setUp();
    const call = client.call("patient", [], { timeoutMs: Number.POSITIVE_INFINITY });
    expect(link.calls[0]?.request.timeoutMs).toBe(undefined);
    clock.advance(1e12);
    expect(await stateOf(call)).toBe("open");
  });

  test("cancels the call at the link", async () => {
    const { clock, link, client } = setUp(100);
    const call = client.call("slow");
    let cancelledWith: unknown;
    if (link.calls[0] !== undefined)
      link.calls[0].outgoing.cancel = (error) => (cancelledWith = error);
    clock.advance(100 + tickMs);
    const error: unknown = await call.catch((reason: unknown) => reason);
    expect(cancelledWith).toBe(error);
  });

  test("ends many calls at their own times, with one timer for all", async () => {
    const { clock, client } = setUp();
    const calls = [300, 100, 200].map((timeoutMs) => client.call("slow", [], { timeoutMs }));
    expect(clock.waiting).toBe(1);
    const states = async () => Promise.all(calls.map(stateOf));
    clock.advance(100 + tickMs);
    expect(await states()).toEqual(["open", "TIMEOUT", "open"]);
    clock.advance(100);
    expect(await states()).toEqual(["open", "TIMEOUT", "TIMEOUT"]);
    clock.advance(100);
    expect(await states()).toEqual(["TIMEOUT", "TIMEOUT", "TIMEOUT"]);
  });

  test("restarts with each report of progress", async () => {
    const { clock, link, client } = setUp(100);
    const heard: unknown[] = [];
    const call = client.call("steps", [], { onProgress: (value) => heard.push(value) });
    for (let step = 1; step <= 5; step++) {
      clock.advance(90);
      link.calls[0]?.outgoing.progress(step);
    }
    expect(await stateOf(call)).toBe("open");
    expect(heard).toEqual([1, 2, 3, 4, 5]);
    clock.advance(99);
    expect(await stateOf(call)).toBe("open");
    clock.advance(1 + tickMs);
    expect(await stateOf(call)).toBe("TIMEOUT");
  });

  test("does not apply to the reader of a stream", async () => {
    const { clock, link, client } = setUp(100);
    const items = client.stream("ticks")[Symbol.asyncIterator]();
    const first = items.next();
    clock.advance(1_000);
    void link.calls[0]?.outgoing.item("tick", () => {});
    expect(await first).toEqual({ value: "tick", done: false });
    await items.return?.();
  });

  test("applies to a stream that is awaited, and the error says to iterate over it", async () => {
    const { clock, link, client } = setUp(100);
    const call = client.call("ticks");
    void link.calls[0]?.outgoing.item("tick", () => {});
    clock.advance(100 + tickMs);
    await expect(call).rejects.toThrow(
      "ticks did not answer within 0.1 s; it streams: iterate over it",
    );
  });

  test("counts the time that middleware takes, and nothing is sent after it", async () => {
    const clock = new FakeClock();
    const link = new HandLink(parrot);
    let go: () => void = () => {};
    const wait: Middleware = (next) => async (request, context) => {
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      return next(request, context);
    };
    const call = createClient(link, { use: [wait], clock, timeoutMs: 100 }).call("late");
    clock.advance(100 + tickMs);
    expect(await stateOf(call)).toBe("TIMEOUT");
    go();
    await turn();
    expect(link.payloads).toEqual([]);
  });

  test("that passes after the reply changes nothing", async () => {
    const clock = new FakeClock();
    const client = createClient(new HandLink(parrot), { clock, timeoutMs: 100 });
    expect(await client.call("quick")).toEqual(["quick", null]);
    clock.advance(1_000);
    expect(clock.waiting).toBe(0);
  });
});

describe("a signal", () => {
  const listeners = (signal: AbortSignal) => getEventListeners(signal, "abort").length;

  test("that has aborted keeps a call from being sent", async () => {
    const { link, client } = setUp();
    const signal = AbortSignal.abort("before");
    for (const call of [client.call("a", [], { signal }), client.notify("a", [], { signal })]) {
      await expect(call).rejects.toMatchObject({ code: "ABORTED", cause: "before" });
    }
    const items = client.stream("a", [], { signal })[Symbol.asyncIterator]();
    await expect(items.next()).rejects.toMatchObject({ code: "ABORTED" });
    expect(link.payloads).toEqual([]);
    expect(listeners(signal)).toBe(0);
  });

  test("ends a call while it is open, and notifies the link", async () => {
    const { link, client } = setUp();
    const controller = new AbortController();
    const call = client.call("a", [], { signal: controller.signal });
    let cancelledWith: unknown;
    if (link.calls[0] !== undefined)
      link.calls[0].outgoing.cancel = (error) => (cancelledWith = error);
    expect(listeners(controller.signal)).toBe(1);
    controller.abort(new Error("enough"));
    await expect(call).rejects.toMatchObject({
      name: "WireError",
      code: "ABORTED",
      message: "a was cancelled by its caller",
      cause: new Error("enough"),
    });
    expect(cancelledWith).toMatchObject({ code: "ABORTED" });
    expect(listeners(controller.signal)).toBe(0);
  });

  test("that aborts after the reply changes nothing, and removes its listeners", async () => {
    const link = new HandLink(parrot);
    const client = createClient(link);
    const controller = new AbortController();
    const { signal } = controller;
    for (let i = 0; i < 20; i++) await client.call("a", [], { signal });
    await client.notify("a", [], { signal });
    await client.with({ signal }).batch(() => []);
    link.behaviour = emptyStream;
    for await (const _ of client.stream("a", [], { signal }));
    link.behaviour = () => {
      throw new Error("broken");
    };
    await expect(client.call("a", [], { signal })).rejects.toThrow("broken");
    expect(listeners(signal)).toBe(0);
    controller.abort();
  });

  test("of a timeout leaves no listener either", async () => {
    const { clock, client } = setUp(100);
    const { signal } = new AbortController();
    const call = client.call("a", [], { signal });
    clock.advance(100 + tickMs);
    await expect(call).rejects.toMatchObject({ code: "TIMEOUT" });
    expect(listeners(signal)).toBe(0);
  });

  test("ends all calls of a client that has it as its default", async () => {
    const { client } = setUp();
    const controller = new AbortController();
    const bound = client.with({ signal: controller.signal });
    const calls = [bound.call("a"), bound.call("b")];
    controller.abort();
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: "ABORTED" });
  });
});

describe("a call that is made for another", () => {
  const within = (
    deadline: number | undefined,
    signal = new AbortController().signal,
  ): CallOptions => ({
    within: { signal, deadline },
  });

  test("gets the remaining time, and sends it", async () => {
    const { clock, link, client } = setUp();
    clock.advance(250);
    const call = client.call("inner", [], within(1_000_000 + 1_000));
    expect(link.calls[0]?.request.timeoutMs).toBe(750);
    clock.advance(750 + tickMs);
    expect(await stateOf(call)).toBe("TIMEOUT");
  });

  test("keeps its own timeout if it is shorter", () => {
    const { link, client } = setUp();
    const given = within(1_000_000 + 1_000);
    void client.call("inner", [], { ...given, timeoutMs: 300 }).catch(() => {});
    void client.call("inner", [], { ...given, timeoutMs: 3_000 }).catch(() => {});
    void client.call("inner", [], within(undefined)).catch(() => {});
    expect(link.calls.map(({ request }) => request.timeoutMs)).toEqual([300, 1_000, undefined]);
  });

  test("whose deadline has passed is not sent", async () => {
    const { clock, link, client } = setUp();
    const call = client.call("inner", [], within(1_000_000 - 1));
    expect(link.calls[0]?.request.timeoutMs).toBe(0);
    clock.advance(tickMs);
    expect(await stateOf(call)).toBe("TIMEOUT");
  });

  test("ends with it", async () => {
    const { client } = setUp();
    const outer = new AbortController();
    const own = new AbortController();
    const both = { ...within(undefined, outer.signal), signal: own.signal };
    const calls = [
      client.call("a", [], both),
      client.call("b", [], within(undefined, outer.signal)),
    ];
    outer.abort("the outer call ended");
    for (const call of calls) {
      await expect(call).rejects.toMatchObject({ code: "ABORTED", cause: "the outer call ended" });
    }
    expect(getEventListeners(outer.signal, "abort")).toHaveLength(0);
    expect(getEventListeners(own.signal, "abort")).toHaveLength(0);
  });

  test("leaves no listener on it", async () => {
    const client = createClient(new HandLink(parrot));
    const { signal } = new AbortController();
    for (let i = 0; i < 5; i++) await client.call("inner", [], within(undefined, signal));
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("is not sent when it has ended", async () => {
    const { link, client } = setUp();
    const call = client.call("a", [], within(undefined, AbortSignal.abort("over")));
    await expect(call).rejects.toMatchObject({ code: "ABORTED", cause: "over" });
    expect(link.payloads).toEqual([]);
  });

  test("accepts the context of a handler", async () => {
    const link = new HandLink(() => success("from behind"));
    const behind = createClient(link);
    const server = createServer({
      front: method({}, (_, call) => behind.call("back", [], { within: call })),
    });
    const [near] = memoryPair(undefined, server);
    expect(await createClient(near).call("front", [], { timeoutMs: 30_000 })).toBe("from behind");
    const left = link.calls[0]?.request.timeoutMs;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(30_000);
  });
});
