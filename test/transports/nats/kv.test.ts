import { deepStrictEqual } from "node:assert";
import { once } from "node:events";
import { StorageType } from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import { headers } from "@nats-io/transport-node";
import {
  type Clock,
  createClient,
  createServer,
  ErrorCode,
  type Methods,
  method,
  RpcError,
  silentLog,
  stream,
} from "callwire";
import { natsLink } from "callwire/nats";
import {
  type IdempotencyOptions,
  idempotency,
  type NatsLimits,
  natsLimits,
} from "callwire/nats/kv";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { oneOfEach } from "../../rich-values.ts";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { nobodyHears, patient, TestNats } from "./test-nats.ts";
import { killWorker, startPayingWorker } from "./worker-process.ts";

const subject = "test";

function key(name: string) {
  return { headers: { "idempotency-key": name } };
}

describeWith(["nats-server"], "idempotency keys on NATS", () => {
  async function setUp<M extends Methods>(
    methods: M,
    options: IdempotencyOptions & { readonly workers?: number } = {},
  ) {
    const { workers = 2, ...own } = options;
    const testNats = await TestNats.start('jetstream: { store_dir: "$FOLDER" }');
    const bucket = await new Kvm(await testNats.connect()).create("answers", {
      storage: StorageType.Memory,
    });
    const serve = () => testNats.serve(methods, { server: { use: [idempotency(bucket, own)] } });
    for (let i = 0; i < workers; i++) await serve();
    const client = createClient(natsLink(await testNats.connect(), { subject }));
    return { client, bucket, testNats, serve };
  }

  test("a repetition gets the rich values of the first answer, also in an error", async () => {
    let runs = 0;
    const { testNats } = await setUp({
      make: (value: unknown) => [++runs, value],
      refuse: (value: unknown) => {
        runs++;
        throw new RpcError(1001, "Refused", value);
      },
    });
    const client = createClient(natsLink(await testNats.connect(), { subject }), {
      values: "rich",
    });
    const refused = () => client.call("refuse", [oneOfEach], key("k2")).catch((error) => error);
    for (let i = 0; i < 2; i++) {
      deepStrictEqual(await client.call("make", [oneOfEach], key("k1")), [1, oneOfEach]);
      const { message, data } = (await refused()) as RpcError;
      deepStrictEqual([message, data], ["Refused", oneOfEach]);
    }
    expect(runs).toBe(2);
    // The same JSON with other types is another call.
    await client.call("make", [new Date(0)], key("k3"));
    await expect(client.call("make", [new Date(0).toISOString()], key("k3"))).rejects.toMatchObject(
      {
        code: ErrorCode.InvalidRequest,
      },
    );
  });

  test("a repeated stream is refused, because its items are not kept", async () => {
    let runs = 0;
    const { client } = await setUp({
      count: stream({}, async function* () {
        runs++;
        yield* [1, 2, 3];
      }),
    });
    const read = async () => {
      const items: unknown[] = [];
      for await (const item of client.stream("count", [], key("k1"))) items.push(item);
      return items;
    };
    expect(await read()).toEqual([1, 2, 3]);
    await expect(read()).rejects.toMatchObject({
      code: ErrorCode.InvalidRequest,
      data: "the call has run, and the items of a stream are not kept for its key",
    });
    expect(runs).toBe(1);
  });

  test("a stream whose reader left runs again", async () => {
    let runs = 0;
    const ended = deferred();
    const { client } = await setUp({
      count: stream({}, async function* () {
        runs++;
        try {
          for (let i = 0; i < 1_000; i++) yield i;
        } finally {
          ended.resolve();
        }
      }),
    });
    for await (const _ of client.stream("count", [], key("k1"))) break;
    await ended.promise;
    let items = 0;
    for await (const _ of client.stream("count", [], key("k1"))) items++;
    expect({ items, runs }).toEqual({ items: 1_000, runs: 2 });
  });

  test("a repeated call gets the first answer from any worker", async () => {
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

  test("one that arrives while the first still runs waits for its answer", async () => {
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

  test("of several that wait for a call which fails, one runs it again", async () => {
    const runs = new Map<number, number>();
    let asked = deferred();
    const pay = async (n: number) => {
      const times = (runs.get(n) ?? 0) + 1;
      runs.set(n, times);
      if (times > 1) return times;
      await asked.promise;
      throw new Error("not yet");
    };
    const { client } = await setUp({ pay }, { workers: 3 });
    for (let n = 0; n < 10; n++) {
      asked = deferred();
      const first = client.call("pay", [n], key(`${n}`));
      await expect.poll(() => runs.get(n)).toBe(1);
      const others = Array.from({ length: 4 }, () => client.call("pay", [n], key(`${n}`)));
      asked.resolve();
      await expect(first).rejects.toThrow("Internal error");
      expect(await Promise.all(others)).toEqual([2, 2, 2, 2]);
    }
  });

  test("a declared error is an answer, and a crash is not", async () => {
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

  test("an error that says that the call did not run, or may run later, is not stored", async () => {
    const failures = [
      new RpcError(-32009, "Upstream failed", { ran: false, reason: "unavailable" }),
      new RpcError(-32009, "Upstream failed", { ran: "unknown", reason: "connection-lost" }),
      new RpcError(-32010, "Rate limited", { ran: false, reason: "rate-limited" }),
      new RpcError(-32005, "Server busy", { ran: false, reason: "busy" }),
    ];
    const left = [...failures];
    const { client } = await setUp({
      pay: (_: never) => {
        const next = left.shift();
        if (next !== undefined) throw next;
        return "paid";
      },
    });
    for (const error of failures) {
      await expect(client.call("pay", [1], key("p"))).rejects.toEqual(error);
    }
    expect(await client.call("pay", [1], key("p"))).toBe("paid");
  });

  test("an error of the application with the code of a busy server is an answer", async () => {
    let runs = 0;
    const { client } = await setUp({
      pay: (_: never) => {
        throw new RpcError(-32005, `Limit exceeded ${++runs}`);
      },
    });
    for (let i = 0; i < 2; i++) {
      await expect(client.call("pay", [1], key("p"))).rejects.toThrow("Limit exceeded 1");
    }
  });

  test("a result that is not JSON is not stored, and its key is free at once", async () => {
    const clock = new FakeClock();
    const results: unknown[] = [10n, (async function* () {})(), "paid"];
    const { client } = await setUp({ pay: (_: never) => results.shift() }, { clock });
    for (let i = 0; i < 2; i++) {
      await expect(client.call("pay", [1], key("k"))).rejects.toMatchObject({
        code: ErrorCode.InternalError,
      });
    }
    expect(await client.call("pay", [1], key("k"))).toBe("paid");
    expect(await client.call("pay", [1], key("k"))).toBe("paid");
  });

  test("a declared error whose data is not JSON is stored without it, as its caller got it", async () => {
    let runs = 0;
    const { client } = await setUp({
      refuse: (_: never) => {
        throw new RpcError(1001, `Refused ${++runs}`, { amount: 10n });
      },
    });
    for (let i = 0; i < 2; i++) {
      const refused = client.call("refuse", [1], key("k"));
      await expect(refused).rejects.toEqual(new RpcError(1001, "Refused 1"));
    }
  });

  test("a call that ran is answered though its answer cannot be kept", async () => {
    const testNats = await TestNats.start('jetstream: { store_dir: "$FOLDER" }');
    const connection = await testNats.connect();
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
    expect(errors).toEqual(["could not store the result under its idempotency key"]);
  });

  /** Reports each sign that the worker of the only call gives. */
  async function signsIn(bucket: KV): Promise<() => Promise<unknown>> {
    const watch = await bucket.watch();
    onTestFinished(() => watch.stop());
    const signs = watch[Symbol.asyncIterator]();
    return () => signs.next();
  }

  test("a call that takes longer than its lease runs once", async () => {
    let runs = 0;
    const started = deferred();
    const gate = deferred();
    const clock = new FakeClock();
    const pay = async (_: never) => {
      runs++;
      started.resolve();
      await gate.promise;
      return runs;
    };
    const { client, bucket } = await setUp({ pay }, { leaseMs: 3_000, clock });
    const sign = await signsIn(bucket);
    const first = client.call("pay", [1], key("k"));
    await Promise.all([started.promise, sign()]);
    const second = client.call("pay", [1], key("k"));
    // One timer renews the lease, the other waits for it to end.
    await expect.poll(() => clock.waiting).toBe(2);
    for (let i = 0; i < 10; i++) {
      clock.advance(1_000);
      await sign();
      await expect.poll(() => clock.waiting).toBe(2);
    }
    gate.resolve();
    expect(await Promise.all([first, second])).toEqual([1, 1]);
    expect(runs).toBe(1);
    expect(clock.waiting).toBe(0);
  });

  test("a method that does not end after its caller left releases its key in the end", async () => {
    let runs = 0;
    const left = deferred();
    const started = deferred();
    const clock = new FakeClock();
    const pay = method({}, (_, { signal }) => {
      if (++runs === 2) return runs;
      signal.addEventListener("abort", () => left.resolve());
      started.resolve();
      return new Promise<number>(() => {});
    });
    const { client, bucket } = await setUp({ pay }, { leaseMs: 3_000, clock });
    const sign = await signsIn(bucket);
    const controller = new AbortController();
    const first = client.call("pay", [], { ...key("k"), signal: controller.signal });
    await Promise.all([started.promise, sign()]);
    controller.abort();
    await expect(first).rejects.toMatchObject({ code: "ABORTED" });
    await left.promise;
    for (const ms of [1_000, 600_000]) {
      clock.advance(ms);
      await sign();
      await expect.poll(() => clock.waiting).toBe(1);
    }
    clock.advance(1_000);
    expect(clock.waiting).toBe(0);
    const second = client.call("pay", [], key("k"));
    // After half of the lease it asks whether the bucket has a leader, which could have stored a
    // sign.
    for (let i = 0; i < 2; i++) {
      await expect.poll(() => clock.waiting).toBe(1);
      clock.advance(1_500);
    }
    expect(await second).toBe(2);
    expect(clock.waiting).toBe(0);
  });

  test("the key of a worker that was killed is taken over", async () => {
    const leaseMs = 200;
    const { client, testNats, serve } = await setUp(
      { pay: (_: never) => 2 },
      { leaseMs, workers: 0 },
    );
    const worker = await startPayingWorker(
      `${testNats.nats.port}`,
      subject,
      "answers",
      `${leaseMs}`,
    );
    const paying = once(worker, "message");
    const lost = client.call("pay", [1], key("k")).catch(() => {});
    await paying;
    await killWorker(worker);
    const connection = await testNats.connect();
    await nobodyHears(connection, `${subject}.pay`);
    await serve();
    expect(await client.call("pay", [1], key("k"))).toBe(2);
    expect(await client.call("pay", [1], key("k"))).toBe(2);
    await client.close();
    await lost;
  });

  test("a call with two keys does not run without one", async () => {
    let runs = 0;
    const { testNats } = await setUp({ pay: () => ++runs });
    const two = headers();
    for (const name of ["a", "b"]) two.append("idempotency-key", name);
    const text = '{"jsonrpc":"2.0","method":"pay","id":1}';
    const options = { ...patient, headers: two };
    const reply = await (await testNats.connect()).request(`${subject}.pay`, text, options);
    expect(reply.json()).toMatchObject({ error: { code: ErrorCode.InvalidRequest } });
    expect(runs).toBe(0);
  });

  test("a lease that is not a duration is refused", async () => {
    const { bucket } = await setUp({}, { workers: 0 });
    for (const leaseMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => idempotency(bucket, { leaseMs })).toThrow(TypeError);
    }
  });
});

describeWith(["nats-server"], "rate limits on NATS", () => {
  test("all callers of a bucket share it, and it refills", async () => {
    const testNats = await TestNats.start('jetstream: { store_dir: "$FOLDER" }');
    const clock = new FakeClock();
    const stores: NatsLimits[] = [];
    for (let i = 0; i < 2; i++) {
      const bucket = await new Kvm(await testNats.connect()).create("limits");
      stores.push(natsLimits(bucket, { clock }));
    }
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

  test("rate limits hold between workers whose clocks differ", async () => {
    const testNats = await TestNats.start('jetstream: { store_dir: "$FOLDER" }');
    const clock = new FakeClock();
    const ahead: Clock = {
      now: () => clock.now() + 5_000,
      elapsed: () => clock.elapsed(),
      after: (ms, run) => clock.after(ms, run),
    };
    const kept = await new Kvm(await testNats.connect()).create("limits");
    const stores = [natsLimits(kept, { clock }), natsLimits(kept, { clock: ahead })];
    const take = async (i: number) => {
      const taken = await stores[i % 2]?.take("ann", 1, { capacity: 10, perSecond: 2 });
      return taken?.allowed;
    };
    const allowed = async () => {
      let count = 0;
      for (let i = 0; i < 40; i++) if (await take(i)) count++;
      return count;
    };
    // The bucket, and once the difference of the clocks.
    expect(await allowed()).toBeLessThanOrEqual(20);
    expect(await allowed()).toBe(0);
    clock.advance(1_000);
    expect(await allowed()).toBe(2);
  });
});
