import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Kvm } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { createClient, createServer } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { natsNonces } from "callwire/nats/kv";
import { authenticate } from "callwire/security";
import {
  createSigningKey,
  httpSigner,
  type Nonce,
  type NonceStore,
  redisNonces,
  signedRequests,
} from "callwire/security/signing";
import { createClient as createRedis } from "redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isFull } from "../full.ts";
import { ownPort } from "../own-port.ts";
import { whoami } from "../security/whoami.ts";
import { describeWith, pathOf } from "../services.ts";
import { likeIoredis } from "./like-ioredis.ts";

function nonce(value: string, owner = "a", keepMs = 60_000): Nonce {
  return { owner, value, createdAt: Date.now(), expiresAt: Date.now() + keepMs };
}

/** Starts a service; resolves when it reports that it is ready, rejects if it exits before. */
function started(command: string, args: readonly string[]): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${command} ended with ${code}`)));
    for (const stream of [child.stdout, child.stderr]) {
      let said = "";
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (/ready/i.test(said)) resolve(child);
      });
    }
  });
}

async function ended(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill();
  await gone;
}

/** Two servers that share a store accept a request once. */
async function sharedByTwo(open: () => Promise<NonceStore>): Promise<void> {
  const { signer: key } = createSigningKey();
  const { methods, ran } = whoami();
  const sent: { headers: Record<string, string>; body: string }[] = [];
  const statuses: number[] = [];
  for (let i = 0; i < 2; i++) {
    const credential = signedRequests({ keys: [key], nonces: await open() });
    const server = createServer(methods, { use: [authenticate(credential)] });
    const http = await serveHttp(server, { port: 0, hosts: ["api.example"] });
    if (i === 0) {
      const link = httpLink("http://api.example/rpc", {
        signer: httpSigner({ key }),
        fetch: async (_, init) => {
          sent.push(init as (typeof sent)[number]);
          throw new Error("not sent");
        },
      });
      await createClient(link)
        .call("whoami")
        .catch(() => {});
    }
    const [{ headers, body }] = sent as [(typeof sent)[number]];
    for (let j = 0; j < 2; j++) {
      statuses.push(
        await new Promise<number>((resolve, reject) => {
          const { port } = http;
          const all: Record<string, string> = { ...headers, host: "api.example" };
          request({ port, path: "/rpc", method: "POST", headers: all }, (response) =>
            resolve(response.resume().statusCode as number),
          )
            .on("error", reject)
            .end(body);
        }),
      );
    }
    await server.close();
  }
  expect(statuses).toEqual([200, 401, 401, 401]);
  expect(ran).toEqual(["whoami"]);
}

describeWith(["redis-server", "npm peers"], "nonces in Redis", () => {
  let child: ChildProcess;
  let redis: ReturnType<typeof createRedis>;

  beforeAll(async () => {
    const port = await ownPort();
    const args = ["--port", `${port}`, "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"];
    child = await started(pathOf("redis-server"), args);
    redis = createRedis({ url: `redis://127.0.0.1:${port}` });
    redis.on("error", () => {});
    await redis.connect();
  });

  afterAll(async () => {
    redis?.destroy();
    await ended(child);
  });

  test("a nonce is new once for each owner, also for another process", async () => {
    const [one, two] = [redisNonces(redis), redisNonces(redis)];
    expect(await one.take(nonce("n"))).toBe("new");
    expect(await two.take(nonce("n"))).toBe("seen");
    expect(await two.take(nonce("n", "b"))).toBe("new");
    expect(await redisNonces(redis, { prefix: "other:" }).take(nonce("n"))).toBe("new");
  });

  test("of many at the same time one is new", async () => {
    const store = redisNonces(redis);
    const all = await Promise.all(Array.from({ length: 50 }, () => store.take(nonce("race"))));
    expect(all.filter((verdict) => verdict === "new")).toHaveLength(1);
  });

  test("it is kept for as long as its message is valid, and not forever", async () => {
    const before = performance.now();
    await redisNonces(redis, { prefix: "ttl:" }).take(nonce("n", "a", 60_000));
    const [key = ""] = await redis.keys("ttl:*");
    const left = await redis.pTTL(key);
    const passed = performance.now() - before;
    expect(left).toBeLessThanOrEqual(65_000);
    expect(left + passed).toBeGreaterThan(60_000);
    // The key contains nothing that a caller sent.
    expect(key).toMatch(/^ttl:[\w-]{43}$/);
  });

  test("a client in the manner of ioredis does too", async () => {
    const store = redisNonces(likeIoredis((args) => redis.sendCommand(args)));
    expect(await store.take(nonce("io"))).toBe("new");
    expect(await store.take(nonce("io"))).toBe("seen");
  });

  test("a nonce whose first answer was lost, so that the client sends it again, is new", async () => {
    const twice = likeIoredis(async (args) => {
      await redis.sendCommand(args);
      return redis.sendCommand(args);
    });
    expect(await redisNonces(twice).take(nonce("lost"))).toBe("new");
    expect(await redisNonces(redis).take(nonce("lost"))).toBe("seen");
    expect(await redisNonces(twice).take(nonce("lost"))).toBe("seen");
  });

  test("of two servers one accepts a request", () => sharedByTwo(async () => redisNonces(redis)));

  test("when Redis is full it refuses", async () => {
    await redis.configSet({ maxmemory: "1", "maxmemory-policy": "noeviction" });
    try {
      expect(await redisNonces(redis).take(nonce("full"))).toBe("full");
    } finally {
      await redis.configSet({ maxmemory: "0" });
    }
  });

  test("a lost connection is an error, and not an answer", async () => {
    const gone = redis.duplicate();
    await gone.connect();
    gone.destroy();
    await expect(redisNonces(gone).take(nonce("gone"))).rejects.toThrow();
  });
});

describeWith(["nats-server"], "nonces in NATS", () => {
  let child: ChildProcess;
  let folder: string;
  let nats: NatsConnection;

  beforeAll(async () => {
    const port = await ownPort();
    folder = await mkdtemp(join(tmpdir(), "callwire-nats-"));
    const args = ["-js", "-sd", folder, "-a", "127.0.0.1", "-p", `${port}`];
    child = await started(pathOf("nats-server"), args);
    nats = await connect({ servers: `127.0.0.1:${port}` });
  });

  afterAll(async () => {
    await nats?.close();
    await ended(child);
    await rm(folder, { recursive: true, force: true });
  });

  /** Created, or opened if it exists. */
  const bucket = (name = "nonces", options: { ttl?: number; max_bytes?: number } = {}) =>
    new Kvm(nats).create(name, { ttl: 125_000, ...options });

  test("a nonce is new once for each owner, also for another process", async () => {
    const [one, two] = [natsNonces(await bucket()), natsNonces(await bucket())];
    expect(await one.take(nonce("n"))).toBe("new");
    expect(await two.take(nonce("n"))).toBe("seen");
    expect(await two.take(nonce("n", "b"))).toBe("new");
  });

  test("of many at the same time one is new", async () => {
    const store = natsNonces(await bucket());
    const all = await Promise.all(Array.from({ length: 20 }, () => store.take(nonce("race"))));
    expect(all.filter((verdict) => verdict === "new")).toHaveLength(1);
  });

  test("a bucket with a short ttl is refused, and one without a ttl is not", async () => {
    const short = natsNonces(await bucket("short", { ttl: 30_000 }));
    await expect(short.take(nonce("n"))).rejects.toThrow(RangeError);
    const forever = natsNonces(await bucket("forever", { ttl: 0 }));
    expect(await forever.take(nonce("n"))).toBe("new");
  });

  test("many at the same time fit into a small bucket", async () => {
    const store = natsNonces(await bucket("crowded", { max_bytes: 2 ** 20 }));
    const all = await Promise.all(Array.from({ length: 100 }, (_, i) => store.take(nonce(`${i}`))));
    expect(new Set(all)).toEqual(new Set(["new"]));
  });

  test("of two servers one accepts a request", () =>
    sharedByTwo(async () => natsNonces(await bucket())));

  // Whether NATS refuses an entry over the limit, or drops the oldest for it, depends on these
  // lengths.
  test.each(isFull ? [0, 48, 96] : [48])(
    "a bucket of 1 MiB and %i bytes refuses when it is full, and forgets none",
    async (more) => {
      const kept = await bucket(`small${more}`, { max_bytes: 2 ** 20 + more });
      const stores = [natsNonces(kept), natsNonces(kept), natsNonces(kept)];
      const verdicts: string[] = [];
      while (!verdicts.includes("full")) {
        const start = verdicts.length;
        const some = Array.from({ length: 300 }, (_, i) =>
          stores[i % 3]?.take(nonce(`${start + i}`)),
        );
        verdicts.push(...((await Promise.all(some)) as string[]));
      }
      const taken = verdicts.filter((verdict) => verdict === "new").length;
      expect(taken).toBeGreaterThan(1_000);
      expect((await kept.status()).values).toBe(taken);
      expect(await stores[0]?.take(nonce("last"))).toBe("full");
    },
  );

  test("a bucket that is too small to be shared is refused", async () => {
    const store = natsNonces(await bucket("tiny", { max_bytes: 65_536 }));
    await expect(store.take(nonce("n"))).rejects.toThrow(
      "max_bytes of the bucket is 65536; it has to be 1048576 or more",
    );
  });
});
