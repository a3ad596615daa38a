import { createClient, createServer, type Link, silentLog } from "callwire";
import { memoryPair } from "callwire/connection";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { afterAll, describe, expect, test } from "vitest";
import { turn } from "../transports/contract-methods.ts";

let left = 0;
const methods = {
  math: {
    add: (a: number, b: number) => a + b,
    *count(to: number) {
      for (let n = 1; n <= to; n++) yield n;
    },
    *sum(to: number) {
      let sum = 0;
      for (let n = 1; n <= to; n++) {
        sum += n;
        yield sum;
      }
      return sum;
    },
    nothing: () => null,
    async *endless() {
      try {
        for (let n = 1; ; n++) yield n;
      } finally {
        left++;
      }
    },
    async *breaks() {
      yield 1;
      throw new Error("broken");
    },
  },
};
const server = createServer(methods, { log: silentLog });
const served = await serveHttp(server, { port: 0 });
afterAll(() => served.close());

const wires: Readonly<Record<string, () => Link>> = {
  "a connection": () => memoryPair(undefined, server)[0],
  HTTP: () => httpLink(served.url),
};
const streamsLike = (method: string) => ({
  name: "WireError",
  code: "BAD_REPLY",
  message: `${method} streams: use for await or client.stream`,
});
const streams = streamsLike("math/count");

async function read(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe.each(Object.entries(wires))("over %s", (_, link) => {
  test("a stream that is called like a method fails, and says how it is read", async () => {
    await using client = createClient(link());
    await expect(client.call("math/count", [2])).rejects.toMatchObject(streams);
    await expect(client.api["math"]?.["count"]?.(2)).rejects.toMatchObject(streams);
  });

  test("an endless stream that is called like a method fails at once, and is stopped", async () => {
    await using client = createClient(link(), { timeoutMs: Number.POSITIVE_INFINITY });
    const before = left;
    await expect(client.call("math/endless")).rejects.toMatchObject(streamsLike("math/endless"));
    await expect.poll(() => left).toBe(before + 1);
    await expect(client.call("math/count", [1_000])).rejects.toMatchObject(streams);
    expect(await client.call("math/add", [1, 2])).toBe(3);
  });

  test("a long stream that is not read yet waits for its reader", async () => {
    await using client = createClient(link());
    const items = [
      client.stream("math/count", [1_000]),
      client.api["math"]?.["count"]?.(1_000) as AsyncIterable<unknown>,
    ];
    await client.call("math/add", [1, 2]);
    for (const each of items) expect(await read(each)).toHaveLength(1_000);
  });

  test("a method that is read like a stream fails, and says how it is called", async () => {
    await using client = createClient(link());
    await expect(read(client.stream("math/add", [1, 2]))).rejects.toMatchObject({
      name: "WireError",
      code: "BAD_REPLY",
      message: "math/add does not stream; call it with client.call",
    });
    expect(await read(client.stream("math/nothing"))).toEqual([]);
  });

  test("a stream that has a result as well can be called for it", async () => {
    await using client = createClient(link());
    expect(await client.call("math/sum", [2])).toBe(3);
  });

  test("the caller gets the error of a stream first", async () => {
    await using client = createClient(link());
    await expect(client.call("math/breaks")).rejects.toMatchObject({ code: -32603 });
  });

  test("a stream can be read long after its reply arrived, and twice", async () => {
    await using client = createClient(link());
    const items = client.api["math"]?.["count"]?.(2) as AsyncIterable<unknown>;
    // Another call over the same wire shows that the reply has arrived.
    await client.call("math/add", [1, 2]);
    await turn();
    expect(await read(items)).toEqual([1, 2]);
    expect(await read(items)).toEqual([]);
  });

  test("a stream that was read has a result, and no items the second time", async () => {
    await using client = createClient(link());
    const items = client.stream("math/sum", [2]);
    expect(await read(items)).toEqual([1, 3]);
    expect(await (items as unknown as Promise<unknown>)).toBe(3);
    expect(await read(items)).toEqual([]);
  });
});

test.each([2, 1_000])("a stream of %i in a batch fails, and the other calls do not", async (to) => {
  await using client = createClient<typeof methods>(memoryPair(undefined, server)[0]);
  const outcomes = await client.batchSettled((b) => [
    b.math.add(1, 2),
    b.math.count(to) as unknown as Promise<unknown>,
  ]);
  expect(outcomes).toMatchObject([
    { status: "fulfilled", value: 3 },
    { status: "rejected", reason: streams },
  ]);
});

test("a stream in a batch over HTTP is refused, and the other calls do not wait for it", async () => {
  const timeoutMs = Number.POSITIVE_INFINITY;
  await using client = createClient<typeof methods>(httpLink(served.url), { timeoutMs });
  const before = left;
  const outcomes = await client.batchSettled((b) => [
    b.math.add(1, 2),
    b.math.endless() as unknown as Promise<unknown>,
  ]);
  expect(outcomes).toMatchObject([
    { status: "fulfilled", value: 3 },
    { status: "rejected", reason: { code: -32007 } },
  ]);
  // It never began.
  expect(left).toBe(before);
  // If a caller listens for progress, a batch is answered with events.
  const listening = client.with({ onProgress() {} });
  const called = await listening.batch((b) => [
    b.math.add(1, 2),
    b.math.sum(2) as unknown as Promise<unknown>,
  ]);
  expect(called).toEqual([3, 3]);
});

test("a stream that a server calls like a method fails at once too, and is stopped", async () => {
  const [near, far] = memoryPair(server, undefined);
  const before = left;
  const streamsBack = (method: string) => ({
    code: "BAD_REPLY",
    message: `${method} streams; read it with createClient(peer).stream`,
  });
  await expect(far.call("math/endless")).rejects.toMatchObject(streamsBack("math/endless"));
  await expect.poll(() => left).toBe(before + 1);
  await expect(far.call("math/count", [2])).rejects.toMatchObject(streamsBack("math/count"));
  expect(await far.call("math/sum", [2])).toBe(3);
  await near.close();
});
