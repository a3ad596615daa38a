import { jetstreamManager } from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { type Clock, createClient, createServer, type Methods, silentLog } from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { idempotency, natsNonces } from "callwire/nats/kv";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { formed, retrying, startCluster } from "./cluster.ts";
import { LongPayment } from "./long-payment.ts";
import type { NatsServer } from "./nats-server.ts";

describeWith(["nats-server"], "buckets whose leader is killed", () => {
  /** One node leads the buckets of these names, and no client is connected to it. */
  async function setUp(...names: readonly string[]) {
    const nodes = await startCluster();
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    });
    await formed(nodes);
    const open = async (servers: readonly NatsServer[]): Promise<NatsConnection> => {
      const connection = await connect({
        servers: servers.map(({ port }) => `127.0.0.1:${port}`),
        noRandomize: true,
      });
      onTestFinished(() => connection.close());
      return connection;
    };
    const first = await open(nodes);
    for (const name of names) await new Kvm(first).create(name, { replicas: 3, ttl: 600_000 });
    const leader = nodes[Number((await together(first, names)).slice(1))] as NatsServer;
    const others = nodes.filter((node) => node !== leader);

    const bucket = async (name: string): Promise<KV> =>
      new Kvm(await open(others)).open(name, { allow_direct: true });
    const warnings: string[] = [];
    const serve = async (methods: Methods) => {
      const warn = (_: object, sentence: string): void => void warnings.push(sentence);
      const use = [idempotency(await bucket("answers"))];
      const server = createServer(methods, { use, log: { ...silentLog, warn } });
      await serveNats(server, await open(others), { subject: "test" });
      onTestFinished(() => server.close({ drainMs: 0 }));
    };
    const connection = await open(others);
    const client = createClient(natsLink(connection, { subject: "test" }), { timeoutMs: 60_000 });
    const pay = (n: number) => client.call("pay", [n], { headers: { "idempotency-key": `${n}` } });
    return { leader, others, connection, bucket, serve, pay, warnings };
  }

  test("calls with a key and nonces wait for the election, and each runs once", async () => {
    const { leader, bucket, serve, pay, warnings } = await setUp("answers", "nonces");
    const runs: number[] = [];
    const methods = {
      pay: (n: number) => {
        runs.push(n);
        return n * 100;
      },
    };
    await serve(methods);
    await serve(methods);
    const nonces = natsNonces(await bucket("nonces"));
    const take = (value: string) =>
      nonces.take({ owner: "ann", value, expiresAt: Date.now() + 60_000 });
    expect(await pay(1)).toBe(100);
    expect(await take("1")).toBe("new");
    const numbers = Array.from({ length: 20 }, (_, i) => i);
    const expected = numbers.map((n) => n * 100);
    // Some of them are on their way to the node when it dies.
    const early = numbers.slice(0, 10).map(pay);
    const earlyNonces = numbers.slice(0, 10).map((n) => take(`${n}`));
    await leader.kill();
    const calls = Promise.all([...early, ...numbers.slice(10).map(pay)]);
    const taken = await Promise.all([
      ...earlyNonces,
      ...numbers.slice(10).map((n) => take(`${n}`)),
    ]);
    expect(taken).toEqual(numbers.map((n) => (n === 1 ? "seen" : "new")));
    expect(await calls).toEqual(expected);
    expect(await Promise.all(numbers.map(pay))).toEqual(expected);
    expect(await take("19")).toBe("seen");
    expect(runs.toSorted((a, b) => a - b)).toEqual(numbers);
    // Once for each worker, not for each call.
    const sentence = "NATS bucket does not answer; calls that need it wait";
    expect(warnings.filter((each) => each === sentence)).toHaveLength(2);
    expect(warnings.join()).not.toContain("taken over");
  }, 240_000);

  /** One call runs, and its repetition waits for it; each has its own clock. */
  async function setUpRepeated() {
    const { leader, others, connection, bucket } = await setUp("answers");
    const payment = new LongPayment();
    const payWith = async (clock: Clock) => {
      const use = [idempotency(await bucket("answers"), { key: () => "k", leaseMs: 3_000, clock })];
      const server = createServer({ pay: payment.pay }, { use, log: silentLog });
      onTestFinished(() => server.close({ drainMs: 0 }));
      return server.receive('{"jsonrpc":"2.0","method":"pay","id":1}');
    };
    const [worker, waiter] = [new FakeClock(), new FakeClock()];
    const waits = () => expect.poll(() => waiter.waiting, { timeout: 60_000 }).toBe(1);
    const manager = await jetstreamManager(connection);
    const info = () => manager.streams.info("KV_answers");
    const lastWrite = async () => (await info()).state.last_seq;
    const first = payWith(worker);
    await payment.begun;
    const second = payWith(waiter);
    await waits();
    const before = await lastWrite();

    /** The bucket has a leader again: the worker gives a sign and finishes its call, which was not taken over. */
    const endsWell = async (): Promise<void> => {
      await waits();
      waiter.advance(1_400);
      for (let i = 0; i < 10; i++) expect(await retrying(lastWrite)).toBe(before);
      worker.advance(1_000);
      while ((await retrying(lastWrite)) === before);
      payment.end();
      const answer = '{"jsonrpc":"2.0","result":1,"id":1}';
      expect(await first).toBe(answer);
      // It may have to check again itself: its watch ended with the node.
      let isOver = false;
      void second.finally(() => {
        isOver = true;
      });
      while (!isOver) {
        waiter.advance(100);
        await nextTurn();
      }
      expect(await second).toBe(answer);
      expect(payment.runs).toBe(1);
    };
    return { leader, others, waiter, info, endsWell };
  }

  test("a call that runs meanwhile keeps its key, although its worker cannot give a sign", async () => {
    const { leader, waiter, info, endsWell } = await setUpRepeated();
    await leader.kill();
    // Half of the lease passes, and the time after that does not count until the bucket has a
    // leader.
    for (const ms of [1_500, 1_400]) {
      waiter.advance(ms);
      await nextTurn();
    }
    await retrying(info);
    await endsWell();
  }, 240_000);

  test("so does one in a cluster that has lost its majority", async () => {
    const { leader, others, waiter, info, endsWell } = await setUpRepeated();
    // All are connected to the other.
    const [, third] = others as [NatsServer, NatsServer];
    for (const node of [leader, third]) node.freeze();
    onTestFinished(() => {
      for (const node of [leader, third]) node.thaw();
    });
    // The remaining node describes the bucket, although that has no leader.
    while ((await retrying(info)).cluster?.leader);
    waiter.advance(1_500);
    for (let i = 0; i < 200; i++) await retrying(info);
    expect(waiter.waiting).toBe(0);
    for (const node of [leader, third]) node.thaw();
    while (!(await retrying(info)).cluster?.leader);
    await endsWell();
  }, 240_000);
});

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Makes one node the leader of all of these buckets, and returns which. */
async function together(connection: NatsConnection, names: readonly string[]): Promise<string> {
  const manager = await jetstreamManager(connection);
  const leaderOf = async (name: string): Promise<string> => {
    const { cluster } = await manager.streams.info(`KV_${name}`);
    if (!cluster?.leader) throw new Error(`nobody leads ${name}`);
    return cluster.leader;
  };
  for (;;) {
    const leaders = await retrying(() => Promise.all(names.map(leaderOf)));
    const [first = "", other] = new Set(leaders);
    if (other === undefined) return first;
    const name = names[leaders.indexOf(other)];
    await retrying(() => connection.request(`$JS.API.STREAM.LEADER.STEPDOWN.KV_${name}`));
  }
}
