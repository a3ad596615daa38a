import { jetstreamManager } from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import { errors, type NatsConnection } from "@nats-io/transport-node";
import { createServer, ErrorCode, type Methods, type ServerOptions, silentLog } from "callwire";
import { type IdempotencyOptions, idempotency } from "callwire/nats/kv";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { LongPayment } from "./long-payment.ts";
import { RestartableNats } from "./restartable-nats.ts";
import { patient } from "./test-nats.ts";

/** Calls the only method of a worker, under the only key. */
type Pay = () => Promise<unknown>;

describeWith(["nats-server"], "idempotency keys when NATS restarts", () => {
  /** The log messages of the workers of the test. */
  let said: string[] = [];

  function payAt(
    bucket: KV,
    pay: Methods[string],
    options: IdempotencyOptions = {},
    more: ServerOptions = {},
  ): Pay {
    const own = said;
    const note = (_: object, sentence: string): void => {
      // A nats-server that gets no CPU time is not a fault.
      if (!sentence.startsWith("a bucket of NATS does not answer")) own.push(sentence);
    };
    const use = [idempotency(bucket, { key: () => "k", ...options })];
    const log = { ...silentLog, warn: note, error: note };
    const server = createServer({ pay }, { use, log, ...more });
    onTestFinished(() => server.close({ drainMs: 0 }));
    return async () => {
      const text = await server.receive('{"jsonrpc":"2.0","method":"pay","id":1}');
      return JSON.parse(text ?? "null") as unknown;
    };
  }

  async function setUp(): Promise<{
    readonly testNats: RestartableNats;
    readonly connections: NatsConnection[];
    readonly buckets: KV[];
  }> {
    said = [];
    const testNats = await RestartableNats.start();
    const connections = [await testNats.connect(), await testNats.connect()];
    const buckets: KV[] = [];
    for (const connection of connections) buckets.push(await new Kvm(connection).create("answers"));
    return { testNats, connections, buckets };
  }

  test("a call that ends while NATS is away runs once, and its answer is kept", async () => {
    const { testNats, connections, buckets } = await setUp();
    let runs = 0;
    const pay = async () => {
      if (++runs === 1) await testNats.stop(...connections);
      return runs;
    };
    const leaseMs = 9_000;
    const [first, second] = buckets.map((bucket) => payAt(bucket, pay, { leaseMs })) as [Pay, Pay];
    // Its caller does not wait for NATS.
    expect(await first()).toMatchObject({ result: 1 });
    await testNats.start(...connections);
    expect(await second()).toMatchObject({ result: 1 });
    expect(runs).toBe(1);
    expect(said).toEqual(["could not yet store the result under its idempotency key"]);
  });

  test("a write without a confirmation is recognized", async () => {
    const { buckets } = await setUp();
    const [bucket, other] = buckets as [KV, KV];
    let isLost = false;
    const looked = deferred();
    /** Writes, and gets no confirmation. */
    const deaf = altered(bucket, {
      async update(write) {
        const result = await write();
        if (isLost) return result;
        isLost = true;
        throw new Error("the confirmation was lost");
      },
      async get(read) {
        const result = await read();
        if (isLost) looked.resolve();
        return result;
      },
    });
    expect(await payAt(deaf, () => "paid", { leaseMs: 300 })()).toMatchObject({ result: "paid" });
    await looked.promise;
    expect(await payAt(other, () => "paid twice", { leaseMs: 300 })()).toMatchObject({
      result: "paid",
    });
    expect(said).toEqual(["could not yet store the result under its idempotency key"]);
    let name = "";
    for await (const key of await other.keys()) name = key;
    expect((await other.get(name))?.revision).toBe(2);
  });

  test("a call whose key was confirmed late gives a sign before it runs", async () => {
    const { buckets } = await setUp();
    const [bucket, other] = buckets as [KV, KV];
    const [stored, arrives] = [deferred(), deferred()];
    let isLost = false;
    const deaf = altered(bucket, {
      async put(write) {
        const result = await write();
        if (isLost) return result;
        isLost = true;
        stored.resolve();
        throw new errors.TimeoutError();
      },
      async get(read) {
        await arrives.promise;
        return read();
      },
    });
    const payment = new LongPayment();
    const leaseMs = 3_000;
    const clock = new FakeClock();
    const waits = () => expect.poll(() => clock.waiting).toBe(1);
    const first = payAt(deaf, payment.pay, { leaseMs })();
    await stored.promise;
    const second = payAt(other, payment.pay, { leaseMs, clock })();
    await waits();
    clock.advance(1_500);
    await waits();
    clock.advance(1_400);
    arrives.resolve();
    await payment.begun;
    clock.advance(100);
    for (let i = 0; i < 10; i++) await other.status();
    payment.end();
    expect(await Promise.all([first, second])).toMatchObject([{ result: 1 }, { result: 1 }]);
    expect(payment.runs).toBe(1);
  });

  test("a call that cannot watch its key polls it at intervals", async () => {
    const { buckets } = await setUp();
    const [bucket, other] = buckets as [KV, KV];
    const payment = new LongPayment();
    const looks: number[] = [];
    const blind = altered(other, {
      watch: () => {
        looks.push(performance.now());
        throw new errors.TimeoutError();
      },
    });
    const first = payAt(bucket, payment.pay)();
    await payment.begun;
    const clock = new FakeClock();
    const answer = payAt(blind, payment.pay, {}, { timeoutMs: 1_000, clock })();
    await expect.poll(() => looks.length).toBe(3);
    clock.advance(1_100);
    expect(await answer).toMatchObject({ error: { code: ErrorCode.RequestTimeout } });
    // However busy the machine is, a pause is never shorter than intended.
    for (const [i, at] of looks.entries()) expect(at - (looks[i - 1] ?? 0)).toBeGreaterThan(50);
    payment.end();
    await first;
  });

  test("the answer is stored also if NATS lost the entry of the running call", async () => {
    const { testNats, buckets } = await setUp();
    const [bucket, other] = buckets as [KV, KV];
    const pay = async () => {
      const manager = await jetstreamManager(await testNats.connect(), patient);
      await manager.streams.purge("KV_answers");
      return "paid";
    };
    expect(await payAt(bucket, pay)()).toMatchObject({ result: "paid" });
    expect(await payAt(other, () => "paid twice")()).toMatchObject({ result: "paid" });
    expect(said).toEqual([]);
  });

  test("a call whose answer is too long to be kept does not run again", async () => {
    const { connections, buckets } = await setUp();
    const length = connections[0]?.info?.max_payload ?? 0;
    const [first, second] = buckets.map((bucket) => payAt(bucket, () => "x".repeat(length)));
    expect(await first?.()).toMatchObject({ result: expect.any(String) });
    expect(await second?.()).toMatchObject({ error: { code: ErrorCode.ReplyTooLarge } });
  });
});

type Action = () => Promise<unknown>;

/** A bucket some of whose operations are replaced. */
function altered(bucket: KV, own: Readonly<Record<string, (run: Action) => Promise<unknown>>>): KV {
  return new Proxy(bucket, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const run = () => Reflect.apply(value, target, args) as Promise<unknown>;
        return (own[String(name)] ?? ((run: Action) => run()))(run);
      };
    },
  });
}
