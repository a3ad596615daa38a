import { StorageType } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { createClient, createServer, ErrorCode, RpcError, silentLog } from "callwire";
import { natsLink } from "callwire/nats";
import { idempotency, natsLimits } from "callwire/nats/kv";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { Engine } from "./engine.ts";

const subject = "test";

function key(name: string) {
  return { headers: { "idempotency-key": name } };
}

describeWith(["nats-server"], "idempotency keys on NATS", () => {
  async function setUp<M extends Record<string, (value: never) => unknown>>(
    methods: M,
    leaseMs = 60_000,
  ) {
    const engine = await Engine.start('jetstream: { store_dir: "$FOLDER" }');
    const bucket = await new Kvm(await engine.connect()).create("answers", {
      storage: StorageType.Memory,
    });
    for (let i = 0; i < 2; i++) {
      await engine.serve(methods, { server: { use: [idempotency(bucket, { leaseMs })] } });
    }
    const client = createClient(natsLink(await engine.connect(), { subject }));
    return { client, bucket };
  }

  test("a repeated call gets the first answer, whichever worker it comes to", async () => {
    let runs = 0;
    const { client } = await setUp({ pay: (amount: number) => ({ amount, run: ++runs }) });
    const first = await client.call("pay", [5], key("k1"));
    for (let i = 0; i < 10; i++) expect(await client.call("pay", [5], key("k1"))).toEqual(first);
    expect(runs).toBe(1);
    expect(await client.call("pay", [5], key("any other: ä *>"))).toEqual({ amount: 5, run: 2 });
    expect(await client.call("pay", [5])).toEqual({ amount: 5, run: 3 });
    await expect(client.call("pay", [6], key("k1"))).rejects.toMatchObject({
      code: ErrorCode.InvalidRequest,
    });
  });

  test("one that comes while the first still runs waits for its answer", async () => {
    let runs = 0;
    const started = deferred();
    const gate = deferred();
    const { client } = await setUp({
      pay: async (_: never) => {
        started.resolve();
        await gate.promise;
        return ++runs;
      },
    });
    const first = client.call("pay", [1], key("k"));
    await started.promise;
    const others = Array.from({ length: 5 }, () => client.call("pay", [1], key("k")));
    const controller = new AbortController();
    const given = client.call("pay", [1], { ...key("k"), signal: controller.signal });
    controller.abort();
    await expect(given).rejects.toMatchObject({ code: "ABORTED" });
    gate.resolve();
    expect(await Promise.all([first, ...others])).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test("a declared error is an answer, and a crash is none", async () => {
    let runs = 0;
    const { client } = await setUp({
      refuse: (_: never) => {
        throw new RpcError(1001, `Refused ${++runs}`, { runs });
      },
      crash: (_: never) => {
        if (++runs < 3) throw new Error("boom");
        return runs;
      },
    });
    for (let i = 0; i < 3; i++) {
      await expect(client.call("refuse", [1], key("r"))).rejects.toEqual(
        new RpcError(1001, "Refused 1", { runs: 1 }),
      );
    }
    await expect(client.call("crash", [1], key("c"))).rejects.toMatchObject({
      code: ErrorCode.InternalError,
    });
    expect(await client.call("crash", [1], key("c"))).toBe(3);
  });

  test("a call that ran is answered though its answer cannot be kept", async () => {
    const engine = await Engine.start('jetstream: { store_dir: "$FOLDER" }');
    const connection = await engine.connect();
    const bucket = await new Kvm(connection).create("answers", { storage: StorageType.Memory });
    const errors: string[] = [];
    const server = createServer(
      {
        pay: async () => {
          await connection.close();
          return "paid";
        },
      },
      {
        use: [idempotency(bucket, { key: () => "k" })],
        log: { ...silentLog, error: (_, message) => errors.push(message) },
      },
    );
    const reply = await server.receive('{"jsonrpc":"2.0","method":"pay","id":1}');
    expect(JSON.parse(reply ?? "null")).toMatchObject({ result: "paid" });
    expect(errors).toEqual(["how a call ended could not be kept for its key"]);
  });

  test("the key of a worker that never finished is taken over", async () => {
    let runs = 0;
    const started = deferred();
    const pay = (_: never) => {
      started.resolve();
      return ++runs === 1 ? new Promise(() => {}) : runs;
    };
    const { client } = await setUp({ pay }, 50);
    const lost = client.call("pay", [1], key("k")).catch(() => {});
    await started.promise;
    expect(await client.call("pay", [1], key("k"))).toBe(2);
    expect(await client.call("pay", [1], key("k"))).toBe(2);
    await client.close();
    await lost;
  });
});

describeWith(["nats-server"], "rate limits on NATS", () => {
  test("a bucket is shared by all who take from it, and fills again", async () => {
    const engine = await Engine.start('jetstream: { store_dir: "$FOLDER" }');
    const clock = new FakeClock();
    const stores = await Promise.all(
      [1, 2].map(async () =>
        natsLimits(await new Kvm(await engine.connect()).create("limits"), { clock }),
      ),
    );
    const bucket = { capacity: 10, perSecond: 2 };
    const take = (i: number, cost = 1) => stores[i % 2]?.take("blue: ä *", cost, bucket);
    const taken = await Promise.all(Array.from({ length: 15 }, (_, i) => take(i)));
    expect(taken.filter((each) => each?.allowed)).toHaveLength(10);
    expect(await take(0)).toEqual({ allowed: false, remaining: 0 });
    expect(await stores[0]?.take("green", 3, bucket)).toEqual({ allowed: true, remaining: 7 });
    clock.advance(1500);
    expect(await take(1, 3)).toEqual({ allowed: true, remaining: 0 });
    clock.advance(60_000);
    expect(await take(1, 4)).toEqual({ allowed: true, remaining: 6 });
  });
});
