import { type KV, Kvm } from "@nats-io/kv";
import { type Clock, createServer, silentLog, systemClock } from "callwire";
import { idempotency } from "callwire/nats/kv";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { LongPayment } from "./long-payment.ts";
import { RestartableNats } from "./restartable-nats.ts";

describeWith(["nats-server"], "idempotency keys when NATS is restarted during a lease", () => {
  test("a worker that could not renew its lease in time still holds its key", async () => {
    const testNats = await RestartableNats.start();
    const connections = [await testNats.connect(), await testNats.connect()];
    const buckets: KV[] = [];
    for (const connection of connections) buckets.push(await new Kvm(connection).create("answers"));
    const leaseMs = 4_500;
    const payment = new LongPayment();
    const isDue = deferred();
    const telling: Clock = {
      now: () => systemClock.now(),
      elapsed: () => systemClock.elapsed(),
      after: (ms, run) =>
        systemClock.after(ms, () => {
          run();
          isDue.resolve();
        }),
    };
    const payAt = async (bucket: KV, clock: Clock): Promise<unknown> => {
      const use = [idempotency(bucket, { key: () => "k", leaseMs, clock })];
      const server = createServer({ pay: payment.pay }, { use, log: silentLog });
      onTestFinished(() => server.close({ drainMs: 0 }));
      return server.receive('{"jsonrpc":"2.0","method":"pay","id":1}');
    };
    const [bucket, other] = buckets as [KV, KV];
    const first = payAt(bucket, telling);
    await payment.begun;
    await testNats.stop(...connections);
    await isDue.promise;
    await testNats.start(...connections);
    const second = payAt(other, systemClock);
    // Four signs take longer than a lease.
    const watch = await other.watch();
    let signs = 0;
    for await (const _ of watch) if (++signs === 5) break;
    payment.end();
    const answer = '{"jsonrpc":"2.0","result":1,"id":1}';
    expect(await Promise.all([first, second])).toEqual([answer, answer]);
    expect(payment.runs).toBe(1);
  });
});
