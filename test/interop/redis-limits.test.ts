import { type ChildProcess, spawn } from "node:child_process";
import { createServer, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { type LimitStore, rateLimit, redisLimits } from "callwire/security";
import { FakeClock } from "callwire/testing";
import { createClient } from "redis";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ownPort } from "../own-port.ts";
import { describeWith, pathOf } from "../services.ts";
import { send } from "../transports/http/wire.ts";
import { likeIoredis } from "./like-ioredis.ts";

const who = '{"jsonrpc":"2.0","method":"who","id":1}';

describeWith(["redis-server", "npm peers"], "rate limits in Redis", () => {
  let redis: ChildProcess;
  let url: string;

  beforeAll(async () => {
    const port = await ownPort();
    url = `redis://127.0.0.1:${port}`;
    const args = ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    redis = spawn(pathOf("redis-server"), args, { stdio: ["ignore", "pipe", "inherit"] });
    await new Promise<void>((resolve, reject) => {
      redis.once("exit", (code) => reject(new Error(`redis-server ended with ${code}`)));
      let said = "";
      redis.stdout?.on("data", (chunk) => {
        said += chunk;
        if (/ready to accept/i.test(said)) resolve();
      });
    });
  });

  afterAll(async () => {
    const gone = new Promise((resolve) => redis.once("exit", resolve));
    redis.kill();
    await gone;
  });

  async function connected() {
    const client = createClient({ url, socket: { reconnectStrategy: false } });
    client.on("error", () => {});
    await client.connect();
    onTestFinished(() => {
      if (client.isOpen) client.destroy();
    });
    return client;
  }

  test("the callers of two processes take each token once", async () => {
    const stores = [redisLimits(await connected()), redisLimits(await connected())];
    const bucket = { capacity: 25, perSecond: 0.001 };
    const taken = await Promise.all(
      Array.from({ length: 100 }, (_, i) => (stores[i % 2] as LimitStore).take("one", 1, bucket)),
    );
    expect(taken.filter(({ allowed }) => allowed)).toHaveLength(25);
    expect(taken.map(({ remaining }) => Math.floor(remaining)).sort((a, b) => a - b)[0]).toBe(0);
  });

  test("buckets fill again, and go when they are full", async () => {
    const client = await connected();
    const store = redisLimits(client, { prefix: "own:" });
    const bucket = { capacity: 2, perSecond: 50 };
    expect((await store.take("k", 2, bucket)).allowed).toBe(true);
    await expect.poll(async () => (await store.take("k", 1, bucket)).allowed).toBe(true);
    // A bucket that refills in half a minute, so that its key still exists; it expires a second
    // later.
    const before = performance.now();
    await store.take("slow", 30, { capacity: 60, perSecond: 1 });
    const ttl = await client.pTTL("own:slow");
    const passed = performance.now() - before;
    expect(ttl).toBeLessThanOrEqual(31_000);
    expect(ttl + passed).toBeGreaterThan(30_000);
  });

  test("a server uses it, and limits on its own when Redis is down", async () => {
    const client = await connected();
    const store = redisLimits(client, { prefix: "served:" });
    // With the machine's clock, a Redis that is busy for a second would count as one that hangs.
    const use = [rateLimit({ capacity: 2, perSecond: 0.001, store, clock: new FakeClock() })];
    const server = createServer({ who: () => "me" }, { use, log: silentLog });
    const { port } = await serveHttp(server, { port: 0 });
    onTestFinished(() => server.close());
    const statuses = async (count: number) => {
      const all: number[] = [];
      for (let i = 0; i < count; i++) all.push((await send(port, { body: who })).status);
      return all;
    };
    expect(await statuses(3)).toEqual([200, 200, 429]);
    client.destroy();
    expect(await statuses(3)).toEqual([200, 200, 429]);
  });

  test("a client in the manner of ioredis fits too", async () => {
    const client = await connected();
    const store = redisLimits(likeIoredis((args) => client.sendCommand(args)));
    expect(await store.take("other", 1, { capacity: 5, perSecond: 1 })).toEqual({
      allowed: true,
      remaining: 4,
    });
  });
});
