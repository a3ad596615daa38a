import { once } from "node:events";
import { Readable } from "node:stream";
import {
  createClient,
  createServer,
  failure,
  silentLog,
  stream,
  success,
  WireError,
} from "callwire";
import { memoryPair } from "callwire/connection";
import { describe, expect, test } from "vitest";
import { deferred } from "../transports/contract/wire.ts";
import { turn } from "../transports/contract-methods.ts";
import { type Carried, HandLink } from "./hand-link.ts";

/** A stream whose items the test provides. */
function open() {
  const link = new HandLink();
  const items = createClient(link).stream("numbers")[Symbol.asyncIterator]();
  const { outgoing, resolve, reject } = link.calls[0] as Carried;
  const credit: number[] = [];
  const push = (value: unknown): { readonly full: Promise<void> | undefined } => ({
    full: outgoing.item(value, (count) => credit.push(count)),
  });
  return { link, items, outgoing, push, credit, resolve, reject };
}

async function rest(items: AsyncIterator<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let next = await items.next(); next.done !== true; next = await items.next())
    all.push(next.value);
  return all;
}

describe("a stream", () => {
  test("gives items as they arrive, also if the reader waits for them", async () => {
    const { items, push, resolve } = open();
    push("a");
    expect(await items.next()).toEqual({ value: "a", done: false });
    const waiting = items.next();
    await turn();
    push("b");
    expect(await waiting).toEqual({ value: "b", done: false });
    push("c");
    resolve(success(null));
    expect(await rest(items)).toEqual(["c"]);
    expect(await items.next()).toEqual({ value: undefined, done: true });
  });

  test("carries undefined, null and false like any other item", async () => {
    const { items, push, resolve } = open();
    for (const value of [undefined, null, false, 0, ""]) push(value);
    resolve(success(null));
    expect(await rest(items)).toEqual([undefined, null, false, 0, ""]);
  });

  test("gives the items before a failure, and then fails", async () => {
    for (const fail of [
      (carried: ReturnType<typeof open>) =>
        carried.resolve(failure({ code: 5, message: "broken" })),
      (carried: ReturnType<typeof open>) =>
        carried.reject(new WireError("CONNECTION_LOST", "broken")),
    ]) {
      const carried = open();
      carried.push(1);
      carried.push(2);
      fail(carried);
      await turn();
      expect(await carried.items.next()).toEqual({ value: 1, done: false });
      expect(await carried.items.next()).toEqual({ value: 2, done: false });
      await expect(carried.items.next()).rejects.toThrow("broken");
      expect(await carried.items.next()).toEqual({ value: undefined, done: true });
    }
  });

  test("cancels the call when its reader leaves", async () => {
    const { items, push, outgoing } = open();
    let cancelledWith: unknown;
    outgoing.cancel = (error) => {
      cancelledWith = error;
    };
    push(1);
    await items.next();
    await items.return?.();
    expect(cancelledWith).toMatchObject({ name: "WireError", code: "ABORTED" });
    expect(await items.next()).toEqual({ value: undefined, done: true });
    expect(push(2).full).toBe(undefined);
  });

  test("cancels nothing when its reader leaves after the end", async () => {
    const { items, push, outgoing, resolve } = open();
    push(1);
    push(2);
    resolve(success(null));
    await items.next();
    let cancelled = false;
    outgoing.cancel = () => {
      cancelled = true;
    };
    await items.return?.();
    expect(cancelled).toBe(false);
  });

  test("that fails before it is read does not cause an unhandled rejection", async () => {
    const link = new HandLink();
    const items = createClient(link).stream("numbers");
    link.calls[0]?.reject(new WireError("CONNECTION_LOST", "before"));
    await turn();
    await expect(items[Symbol.asyncIterator]().next()).rejects.toThrow("before");
  });

  test("ends for a reader that leaves while it waits for an item", async () => {
    const { items, outgoing, push } = open();
    const told: unknown[] = [];
    const { cancel } = outgoing;
    outgoing.cancel = (error) => {
      told.push(error.code);
      cancel?.(error);
    };
    push("a");
    await items.next();
    const waiting = items.next();
    const end = { value: undefined, done: true };
    expect(await items.return?.()).toEqual(end);
    expect([await waiting, await items.next()]).toEqual([end, end]);
    expect(told).toEqual(["ABORTED"]);
  });

  test("stops its producer when the stream of Node that was made of it is destroyed", async () => {
    const stopped = deferred();
    const server = createServer({
      quiet: stream({}, async function* (_, { signal }) {
        yield "only";
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        stopped.resolve();
      }),
    });
    const [link] = memoryPair(undefined, server);
    const readable = Readable.from(createClient(link).stream("quiet"));
    const closed = once(readable, "close");
    await once(readable, "data");
    await turn();
    readable.destroy();
    await Promise.all([stopped.promise, closed]);
  });

  test("is cancelled also by a reader that never started", async () => {
    const { items, outgoing } = open();
    let cancelled = false;
    outgoing.cancel = () => {
      cancelled = true;
    };
    await items.return?.();
    expect(cancelled).toBe(true);
  });
});

describe("credit", () => {
  test("is given with the first item, and again for what was read", async () => {
    const { items, push, credit, resolve } = open();
    push(0);
    const [window] = credit;
    expect(window).toBeGreaterThan(1);
    for (let i = 1; i < Number(window); i++) push(i);
    expect(credit).toHaveLength(1);
    for (let i = 0; i < Number(window); i++) await items.next();
    const given = credit.slice(1).reduce((sum, count) => sum + count, 0);
    expect(given).toBe(window);
    resolve(success(null));
    expect(await rest(items)).toEqual([]);
  });

  test("is replaced by a promise on wires that cannot carry it", async () => {
    const { items, push } = open();
    let waiting: Promise<void> | undefined;
    let pushed = 0;
    while (waiting === undefined && pushed < 10_000) {
      waiting = push(pushed++).full;
    }
    expect(pushed).toBeLessThan(1_000);
    let room = false;
    void waiting?.then(() => {
      room = true;
    });
    await turn();
    expect(room).toBe(false);
    await items.next();
    await turn();
    expect(room).toBe(true);
    await items.return?.();
  });

  test("releases a waiting wire when the reader leaves", async () => {
    const { items, push } = open();
    let waiting: Promise<void> | undefined;
    while (waiting === undefined) waiting = push(1).full;
    await items.next();
    for (waiting = undefined; waiting === undefined; ) waiting = push(1).full;
    await items.return?.();
    await waiting;
  });

  test("stops a producer whose items are not read", async () => {
    let produced = 0;
    const [near] = memoryPair(
      undefined,
      createServer(
        {
          numbers: stream({}, async function* () {
            for (;;) yield produced++;
          }),
        },
        { log: silentLog },
      ),
    );
    const items = createClient(near).stream("numbers");
    for (let i = 0; i < 50; i++) await turn();
    const halted = produced;
    expect(halted).toBeLessThan(1_000);
    for (let i = 0; i < 50; i++) await turn();
    expect(produced).toBe(halted);
    await near.close();
    await expect(rest(items[Symbol.asyncIterator]())).rejects.toMatchObject({ code: "CLOSED" });
  });
});
