import { createClient, createServer, Origin, silentLog } from "callwire";
import { authenticate, type LimitStore, memoryLimits, rateLimit } from "callwire/security";
import { serveSocket, tcpLink } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { connectWebSocket } from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { networkOf } from "../../src/protocol/network.ts";
import { ask } from "../server/asking.ts";
import { json, send, serve } from "../transports/http/wire.ts";
import { ann, byToken, counted, request, root } from "./serving.ts";

const bucket = { capacity: 3, perSecond: 1 };

test.each([-1, Number.NaN, "x"])("a method cannot cost %s", (cost) => {
  const costs = { "sum.*": cost as number };
  const wrong = `the cost of "sum.*" must be a number of at least 0, not ${cost}`;
  expect(() => rateLimit({ ...bucket, costs })).toThrow(wrong);
});

describe("by address", () => {
  test("connections count too, also if the store answers later", async () => {
    const transport = (kind: string, remoteAddress: string | undefined) => ({
      kind,
      headers: {},
      remoteAddress,
    });
    const now = memoryLimits({ clock: new FakeClock() });
    const later: LimitStore = { take: async (...given) => now.take(...given) };
    for (const store of [now, later]) {
      const { admit } = rateLimit({ capacity: 1, perSecond: 1, store });
      const ask = (address: string | undefined) =>
        admit?.(() => ({ id: "next" }))(transport("ws", address));
      const address = store === now ? "10.0.0.1" : "10.0.0.2";
      expect(await ask(address)).toEqual({ id: "next" });
      expect(await ask(address)).toMatchObject({ data: { reason: "rate-limited" } });
      expect(await ask(undefined)).toEqual({ id: "next" });
    }
  });

  test("calls beyond the limit are answered with 429 and Retry-After", async () => {
    const clock = new FakeClock();
    const count = counted();
    const use = [rateLimit({ ...bucket, store: memoryLimits({ clock }) })];
    const { port } = await serve(count.methods, {}, { use });
    const ask = () => send(port, { body: request("who") });
    const first = await ask();
    expect(first.status).toBe(200);
    expect(first.headers["ratelimit"]).toBe('"address";r=2;t=1');
    expect(first.headers["ratelimit-policy"]).toBe('"address";q=3;w=3');
    await ask();
    await ask();
    const refused = await ask();
    expect(refused.status).toBe(429);
    expect(refused.headers["retry-after"]).toBe("1");
    expect(refused.headers["ratelimit"]).toBe('"address";r=0;t=3');
    expect(refused.text).toBe(
      '{"jsonrpc":"2.0","error":{"code":-32010,"message":"Rate limited","data":{"ran":false,"reason":"rate-limited","retryAfterMs":1000}},"id":1}',
    );
    clock.advance(1_000);
    expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(429);
    expect(count.calls).toBe(4);
  });

  test("a batch of n costs n, and methods have their own costs", async () => {
    const count = counted();
    const use = [rateLimit({ capacity: 10, perSecond: 0.001, costs: { "sys*/**": 5, who: 2 } })];
    const { port } = await serve(count.methods, {}, { use });
    const batch = `[${Array.from({ length: 4 }, (_, id) => request("echo", [1], id)).join(",")}]`;
    const { headers } = await send(port, { body: batch });
    expect(headers["ratelimit"]).toMatch(/^"address";r=6;/);
    await send(port, { body: request("who") });
    const { text } = await send(port, { body: request("system/wipe") });
    expect(text).toContain("-32010");
    expect((await send(port, { body: batch })).text.match(/result/g)).toHaveLength(4);
    expect((await send(port, { body: batch })).text.match(/-32010/g)).toHaveLength(4);
  });

  test("connections cost too, and what they send", async () => {
    const use = [rateLimit({ capacity: 3, perSecond: 0.001 })];
    const http = await serve(counted().methods, {}, { use });
    const connection = await connectWebSocket(http.url);
    expect(await connection.call("echo", [1])).toBe(1);
    expect(await connection.call("echo", [2])).toBe(2);
    await expect(connection.call("echo", [3])).rejects.toMatchObject({ code: -32010 });
    await expect(connectWebSocket(http.url)).rejects.toMatchObject({ status: 429 });
    await connection.close();
    const server = createServer(counted().methods, { use, log: silentLog });
    onTestFinished(() => server.close());
    const { port } = await serveSocket(server, { port: 0 });
    await using client = createClient(tcpLink(`tcp://127.0.0.1:${port}`));
    await expect(client.call("echo")).rejects.toMatchObject({ code: -32010 });
  });

  test("an address from a proxy's header can be used", async () => {
    const addressOf = ({ headers }: { headers: Readonly<Record<string, unknown>> }) =>
      headers["x-real-ip"] as string | undefined;
    const use = [rateLimit({ capacity: 1, perSecond: 0.001, addressOf })];
    const { port } = await serve(counted().methods, {}, { use });
    const from = async (address: string) =>
      (await send(port, { headers: { ...json, "x-real-ip": address }, body: request("who") }))
        .status;
    expect(await from("10.0.0.1")).toBe(200);
    expect(await from("10.0.0.1")).toBe(429);
    expect(await from("10.0.0.2")).toBe(200);
    expect(await from("2001:db8:1:2::1")).toBe(200);
    expect(await from("2001:db8:1:2:ffff::9")).toBe(429);
  });
});

test("by principal, callers from one address have a bucket each, and headers show both limits", async () => {
  const store = memoryLimits({ clock: new FakeClock() });
  const use = [
    rateLimit({ capacity: 100, perSecond: 1, store }),
    authenticate(byToken),
    rateLimit({ by: "principal", capacity: 1, perSecond: 0.5, store }),
  ];
  const { port } = await serve(counted().methods, {}, { use });
  const ask = (headers: object) =>
    send(port, { headers: { ...json, ...headers }, body: request("who") });
  const first = await ask(ann);
  expect(first.headers["ratelimit"]).toBe('"address";r=99;t=1, "principal";r=0;t=2');
  expect(first.headers["ratelimit-policy"]).toBe('"address";q=100;w=100, "principal";q=1;w=2');
  expect((await ask(ann)).status).toBe(429);
  expect((await ask(root)).status).toBe(200);
  // Refused before the caller is known, it counts only for the address.
  expect((await ask({})).headers["ratelimit"]).toMatch(/^"address";r=96;t=4$/);
});

test("a small limit that fills soon does not fill a large one in the same store", async () => {
  const clock = new FakeClock();
  const store = memoryLimits({ clock });
  const use = [
    rateLimit({ capacity: 2, perSecond: 1_000, store }),
    rateLimit({ capacity: 5, perSecond: 0.001, store }),
  ];
  const server = createServer({ hi: () => "hi" }, { use });
  const origin = new Origin({ kind: "tcp", headers: {}, remoteAddress: "192.0.2.1" });
  const results: unknown[] = [];
  for (let i = 0; i < 10; i++) {
    results.push((await ask(server, "hi", [], origin)).error?.code);
    clock.advance(10);
  }
  expect(results.filter((code) => code === undefined)).toHaveLength(5);
  expect(results.at(-1)).toBe(-32010);
});

describe("the store in memory", () => {
  test("is bounded: callers without a bucket share one, and full buckets make room", () => {
    const clock = new FakeClock();
    const store = memoryLimits({ maxKeys: 100, clock });
    for (let i = 0; i < 100; i++) store.take(`old ${i}`, 1, bucket);
    const allowed = () =>
      Array.from({ length: 50 }, (_, i) => store.take(`new ${i} ${clock.now()}`, 1, bucket)).filter(
        (taken) => taken.allowed,
      ).length;
    expect(allowed()).toBe(3);
    clock.advance(1_000);
    expect(allowed()).toBe(50);
  });

  test("allows as many calls as the bucket holds and gains, and no more", () => {
    const clock = new FakeClock();
    const store = memoryLimits({ clock });
    let passed = 0;
    for (let ms = 0; ms < 10_000; ms += 10) {
      clock.advance(10);
      if (store.take("k", 1, bucket).allowed) passed++;
    }
    expect(passed).toBe(12);
  });
});

test("while a store fails, each process limits on its own, and logs it once", async () => {
  const broken: LimitStore = { take: () => Promise.reject(new Error("redis is away")) };
  const logged: string[] = [];
  const log = { ...silentLog, error: (_: object, message: string) => void logged.push(message) };
  const use = [rateLimit({ capacity: 2, perSecond: 0.001, store: broken })];
  const { port } = await serve(counted().methods, {}, { use, log });
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) statuses.push((await send(port, { body: request("who") })).status);
  expect(statuses).toEqual([200, 200, 429]);
  expect(logged).toEqual(["rate limit store failed; limiting in this process"]);
});

test("a store that does not answer delays only some calls, and is tried again later", async () => {
  let asked = 0;
  let isBack = false;
  const store: LimitStore = {
    take: () => {
      asked++;
      return isBack ? Promise.resolve({ allowed: true, remaining: 1 }) : new Promise(() => {});
    },
  };
  const reasons: string[] = [];
  const error = (fields: object) => void reasons.push((fields as { err: Error }).err.message);
  const clock = new FakeClock();
  const use = [rateLimit({ capacity: 2, perSecond: 0.001, store, clock })];
  const { port } = await serve(counted().methods, {}, { use, log: { ...silentLog, error } });
  const status = async () => (await send(port, { body: request("who") })).status;
  const first = status();
  await expect.poll(() => asked).toBe(1);
  clock.advance(1_000);
  expect(await first).toBe(200);
  const statuses = await Promise.all(Array.from({ length: 20 }, status));
  expect(statuses.filter((other) => other === 200)).toHaveLength(1);
  expect(asked).toBe(1);
  // Now and then one call checks whether the store is back, not each of them.
  clock.advance(1_000);
  const asking = Promise.all([status(), status()]);
  await expect.poll(() => asked).toBe(2);
  clock.advance(1_000);
  expect(await asking).toEqual([429, 429]);
  expect(reasons).toEqual(["no answer within 1000 ms"]);
  isBack = true;
  clock.advance(1_000);
  for (let answers = 3; answers < 6; answers++) {
    expect(await status()).toBe(200);
    expect(asked).toBe(answers);
  }
});

test("a store is used again with its first answer in time", async () => {
  let asked = 0;
  let isAway = true;
  const store: LimitStore = {
    take: () => {
      asked++;
      if (isAway) throw new Error("away");
      return { allowed: true, remaining: 1 };
    },
  };
  const clock = new FakeClock();
  const use = [rateLimit({ capacity: 1, perSecond: 0.001, store, clock })];
  const { port } = await serve(counted().methods, {}, { use });
  const status = async () => (await send(port, { body: request("who") })).status;
  expect(await status()).toBe(200);
  isAway = false;
  expect(await status()).toBe(429);
  expect(asked).toBe(1);
  clock.advance(1_000);
  for (let answers = 2; answers < 4; answers++) {
    expect(await status()).toBe(200);
    expect(asked).toBe(answers);
  }
});

test("a capacity of zero, or one that is not a number, is refused", () => {
  expect(() => rateLimit({ capacity: 0, perSecond: 1 })).toThrow(TypeError);
  expect(() => rateLimit({ capacity: 1, perSecond: 0 })).toThrow(TypeError);
  expect(() => rateLimit({ capacity: 1, perSecond: Number.POSITIVE_INFINITY })).toThrow(TypeError);
  expect(() => rateLimit({ capacity: Number.POSITIVE_INFINITY, perSecond: 1 })).toThrow(TypeError);
});

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["2001:db8:0:1:2:3:4:5", "2001:db8:0:1"],
  ["2001:DB8::1", "2001:db8:0:0"],
  ["::1", "0:0:0:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
])("the address %s counts as %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
