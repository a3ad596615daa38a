import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { createClient, createServer, type Methods, silentLog } from "callwire";
import {
  type DurableWorker,
  durableLink,
  type ServeDurableOptions,
  serveDurable,
} from "callwire/nats/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { RestartableNats } from "./restartable-nats.ts";
import { patient } from "./test-nats.ts";

/** Much longer than a test may take. */
const never = 600_000;

describeWith(["nats-server"], "durable notifications when NATS restarts", () => {
  const where = { subject: "jobs", partitions: 1 };

  async function serve(
    testNats: RestartableNats,
    methods: Methods,
    options: Partial<ServeDurableOptions> = {},
  ): Promise<{ worker: DurableWorker; connection: NatsConnection }> {
    const connection = await testNats.connect();
    const server = createServer(methods, { log: silentLog });
    const worker = await serveDurable(server, connection, {
      ...where,
      ackWaitMs: never,
      ...options,
    });
    onTestFinished(() => server.close({ drainMs: 0 }));
    return { worker, connection };
  }

  async function publisherOf(testNats: RestartableNats) {
    return createClient(durableLink(await testNats.connect(), { ...where, key: () => "k" }));
  }

  test("do not wait for one whose acknowledgement was lost with the connection", async () => {
    const testNats = await RestartableNats.start();
    const handled: number[] = [];
    const started = deferred();
    const isAway = deferred();
    const last = deferred();
    const { connection } = await serve(testNats, {
      note: async (i: number) => {
        handled.push(i);
        started.resolve();
        await isAway.promise;
        if (i === 3) last.resolve();
      },
    });
    const publisher = await publisherOf(testNats);
    for (const i of [1, 2, 3]) await publisher.notify("note", [i]);
    await started.promise;
    await testNats.stop(connection);
    isAway.resolve();
    await testNats.start(connection);
    await last.promise;
    expect(handled).toEqual([1, 2, 3]);
    const manager = await jetstreamManager(connection, patient);
    while ((await manager.streams.info("JOBS")).state.messages > 0);
  });

  test("do not wait for one whose acknowledgement nats-server forgot when it was killed", async () => {
    const testNats = await RestartableNats.start();
    const handled: number[] = [];
    const started = deferred();
    const gate = deferred();
    const last = deferred();
    const { connection } = await serve(testNats, {
      note: async (i: number) => {
        handled.push(i);
        started.resolve();
        await gate.promise;
        if (i === 2) last.resolve();
      },
    });
    const publisher = await publisherOf(testNats);
    await publisher.notify("note", [1]);
    await started.promise;
    await testNats.stop(connection);
    // As it is on disk if nats-server is killed before it has written the next changes.
    const forget = testNats.snapshot();
    await testNats.start(connection);
    gate.resolve();
    const manager = await jetstreamManager(connection, patient);
    while ((await manager.streams.info("JOBS")).state.messages > 0);
    await testNats.stop(connection);
    forget();
    await testNats.start(connection);
    await publisher.notify("note", [2]);
    await last.promise;
    expect(handled).toEqual([1, 2]);
  });

  test("do not keep their worker from closing while NATS is away", async () => {
    const testNats = await RestartableNats.start();
    const started = deferred();
    const isAway = deferred();
    const note = async () => {
      started.resolve();
      await isAway.promise;
    };
    const { connection, worker } = await serve(testNats, { note }, { drainMs: never });
    await (await publisherOf(testNats)).notify("note");
    await started.promise;
    await testNats.stop(connection);
    isAway.resolve();
    await worker.close();
  });

  test("are acknowledged for certain before their worker has closed", async () => {
    const testNats = await RestartableNats.start();
    const gate = deferred();
    let started = 0;
    const note = async () => {
      started++;
      await gate.promise;
    };
    const { worker } = await serve(testNats, { note });
    const publisher = createClient(durableLink(await testNats.connect(), where));
    for (let i = 0; i < 100; i++) await publisher.notify("note");
    await expect.poll(() => started).toBe(100);
    const manager = await jetstreamManager(await testNats.connect(), patient);
    const closing = worker.close();
    gate.resolve();
    await closing;
    const { num_ack_pending } = await manager.consumers.info("JOBS", "workers-any");
    expect(num_ack_pending).toBe(0);
  });
});
