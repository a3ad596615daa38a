import {
  type Client,
  type ClientOptions,
  createClient,
  createServer,
  method,
  RpcError,
  stream,
} from "callwire";
import { memoryPair } from "callwire/connection";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { emptyStream, HandLink, parrot } from "./hand-link.ts";

class Point {
  readonly x = 1;
  readonly y = 2;
}

const methods = {
  math: {
    add: method(
      { params: z.object({ a: z.number(), b: z.number() }), result: z.number() },
      ({ a, b }) => a + b,
    ),
    deep: { er: { down: () => "here" } },
  },
  echo: (...values: unknown[]) => values,
  then: () => "reachable by name only",
  call: () => "a method like any other",
  toString: () => "and this one",
  count: stream({ params: z.object({ to: z.number() }) }, async function* ({ to }) {
    for (let i = 0; i < to; i++) yield i;
  }),
};

function overMemory(options?: ClientOptions): Client<typeof methods> {
  const [near] = memoryPair(undefined, createServer(methods));
  return createClient<typeof methods>(near, options);
}

/** What the api sends for some arguments. */
async function sentFor(...args: unknown[]): Promise<unknown> {
  const link = new HandLink(parrot);
  const { api } = createClient<{ m: (...args: unknown[]) => unknown }>(link);
  await api.m(...args);
  return (link.written[0] as { params?: unknown }).params;
}

describe("the api", () => {
  test("calls methods by their place in the tree", async () => {
    const { api } = overMemory();
    expect(await api.math.add({ a: 2, b: 3 })).toBe(5);
    expect(await api.math.deep.er.down()).toBe("here");
    expect(await api.echo(1, "two", null)).toEqual([1, "two", null]);
    const items: number[] = [];
    for await (const item of api.count({ to: 3 })) items.push(item);
    expect(items).toEqual([0, 1, 2]);
  });

  test("joins names with the separator of the server", async () => {
    const link = new HandLink(parrot);
    const client = createClient<typeof methods>(link, { separator: "." });
    await client.api.math.deep.er.down();
    await client.batch((b) => [b.math.add({ a: 1, b: 2 })]);
    expect(link.methods).toEqual(["math.deep.er.down", "math.add"]);
  });

  test("sends one plain object as params by name", async () => {
    expect(await sentFor({ a: 1 })).toEqual({ a: 1 });
    expect(await sentFor({})).toEqual({});
    expect(await sentFor(Object.assign(Object.create(null), { a: 1 }))).toEqual({ a: 1 });
  });

  test("sends everything else by position", async () => {
    expect(await sentFor(1)).toEqual([1]);
    expect(await sentFor(null)).toEqual([null]);
    expect(await sentFor([1, 2])).toEqual([[1, 2]]);
    expect(await sentFor({ a: 1 }, 2)).toEqual([{ a: 1 }, 2]);
    expect(await sentFor(new Point())).toEqual([{ x: 1, y: 2 }]);
    expect(await sentFor(new Date(0))).toEqual(["1970-01-01T00:00:00.000Z"]);
    expect(await sentFor(undefined, 1)).toEqual([null, 1]);
  });

  test("sends no params when there are none", async () => {
    expect(await sentFor()).toBe(undefined);
    expect(await sentFor(undefined)).toBe(undefined);
  });

  test("is not a promise, and neither is a group of methods", async () => {
    const link = new HandLink(parrot);
    const client = createClient<typeof methods>(link);
    const api: object = client.api;
    expect(await api).toBe(api);
    expect(await client.api.math).toBe(client.api.math);
    expect(client.api.then).toBe(undefined);
    expect(link.payloads).toEqual([]);
    expect(await overMemory().call("then")).toBe("reachable by name only");
  });

  test("is shown by its name in a string, without a call", async () => {
    const link = new HandLink();
    const client = createClient<typeof methods>(link);
    expect(`${client.api.math.deep} and ${client.api}`).toBe("math/deep and ");
    expect(String(client.api.math.add)).toBe("math/add");
    expect(link.payloads).toEqual([]);
  });

  test("reaches methods that have the names of members of functions and objects", async () => {
    const { api } = overMemory();
    expect(await api.call()).toBe("a method like any other");
    expect(await api.toString()).toBe("and this one");
  });

  test("gives the same function each time, so that it can be compared and kept", async () => {
    const { api } = overMemory();
    const { add } = api.math;
    expect(api.math.add).toBe(add);
    expect(await add({ a: 1, b: 1 })).toBe(2);
  });
});

describe("by name", () => {
  test("methods are called with params by name, by position or without", async () => {
    const client = overMemory();
    expect(await client.call("math/add", { a: 2, b: 3 })).toBe(5);
    expect(await client.call("math/add", [2, 3])).toBe(5);
    expect(await client.call("math/deep/er/down")).toBe("here");
    const items: unknown[] = [];
    for await (const item of client.stream("count", { to: 2 })) items.push(item);
    expect(items).toEqual([0, 1]);
  });

  test("an error of the server as a string has the name of its method", async () => {
    const failed = await overMemory()
      .call<string>("math/none")
      .catch((error: unknown) => error);
    expect(String(failed)).toBe("RpcError: Method not found (math/none)");
    expect(failed).toMatchObject({ message: "Method not found", method: "math/none" });
  });

  test("ids differ, also between clients", async () => {
    const link = new HandLink(parrot);
    const clients = [createClient(link), createClient(link)];
    await Promise.all(clients.flatMap((client) => [client.call("a"), client.call("b")]));
    const ids = link.calls.map(({ request }) => request.id);
    expect(new Set(ids).size).toBe(4);
    expect(ids.every((id) => Number.isSafeInteger(id))).toBe(true);
  });

  test("a notification has no id and no answer", async () => {
    const link = new HandLink();
    const client = createClient(link);
    expect(await client.notify("log", { level: "info" })).toBe(undefined);
    expect(await client.notify("ping")).toBe(undefined);
    expect(link.written).toEqual([
      { jsonrpc: "2.0", method: "log", params: { level: "info" } },
      { jsonrpc: "2.0", method: "ping" },
    ]);
  });

  test("a notification that could not be handed over rejects", async () => {
    const link = new HandLink(() => {
      throw new Error("no wire");
    });
    await expect(createClient(link).notify("log")).rejects.toThrow("no wire");
  });

  test("results that are easily lost arrive", async () => {
    const [near] = memoryPair(undefined, createServer({ one: (value: unknown) => value }));
    const client = createClient(near);
    for (const value of [null, false, 0, ""]) expect(await client.call("one", [value])).toBe(value);
  });
});

describe("options", () => {
  test("with() changes the defaults of calls and leaves the client as it was", async () => {
    const link = new HandLink(parrot);
    const client = createClient<typeof methods>(link);
    const hurried = client.with({ timeoutMs: 500, headers: { a: "1" } });
    await hurried.with({ headers: { b: "2" } }).api.echo(1);
    await hurried.call("echo", [2], { timeoutMs: 9 });
    await client.api.echo(3);
    expect(
      link.calls.map(({ request, outgoing }) => [request.timeoutMs, outgoing.headers]),
    ).toEqual([
      [500, { b: "2" }],
      [9, { a: "1" }],
      [undefined, undefined],
    ]);
  });

  test("with() holds for batches, streams and notifications too", async () => {
    const link = new HandLink(parrot);
    const client = createClient<typeof methods>(link).with({ headers: { a: "1" } });
    await client.batch((b) => [b.echo(1)]);
    await client.notify("echo");
    link.behaviour = emptyStream;
    for await (const _ of client.stream("count", { to: 1 }));
    expect(link.calls.map(({ outgoing }) => outgoing.headers)).toEqual(Array(3).fill({ a: "1" }));
  });

  test("which methods may be tried again is set by name, by a function, or by the call", async () => {
    const sentAsIdempotent = async (options: ClientOptions, own?: boolean) => {
      const link = new HandLink(parrot);
      await createClient(link, options).call("read", [], { idempotent: own });
      return link.calls[0]?.outgoing.idempotent;
    };
    expect(await sentAsIdempotent({})).toBe(false);
    expect(await sentAsIdempotent({ idempotent: ["read"] })).toBe(true);
    expect(await sentAsIdempotent({ idempotent: ["write"] })).toBe(false);
    expect(await sentAsIdempotent({ idempotent: (name) => name.startsWith("re") })).toBe(true);
    expect(await sentAsIdempotent({ idempotent: ["read"] }, false)).toBe(false);
    expect(await sentAsIdempotent({}, true)).toBe(true);
  });

  test("a client of version 1.0 calls a server of version 1.0", async () => {
    const server = createServer(
      {
        sub: (a: number, b: number) => a - b,
        fail: () => {
          throw new RpcError(7, "seven");
        },
      },
      { versions: ["1.0"] },
    );
    const [near] = memoryPair(undefined, server);
    const client = createClient<typeof server.api>(near, { version: "1.0" });
    expect(await client.api.sub(5, 3)).toBe(2);
    await expect(client.api.fail()).rejects.toEqual(new RpcError(7, "seven"));
    await client.notify("sub", [1, 2]);
    expect(await client.batch((b) => [b.sub(3, 1), b.sub(9, 1)])).toEqual([2, 8]);
  });

  test("closing closes the link", async () => {
    const link = new HandLink();
    await createClient(link).close();
    {
      await using client = createClient(link);
      expect(client.api).toBeDefined();
    }
    expect(link.closed).toBe(2);
  });
});
