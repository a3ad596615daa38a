import { jetstreamManager } from "@nats-io/jetstream";
import { createClient, createServer, type Server, silentLog } from "callwire";
import { durableLink, serveDurable } from "callwire/nats/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { startProxy } from "../contract.ts";
import { patient, TestNats } from "./test-nats.ts";

describeWith(["nats-server"], "a worker of durable notifications that closes", () => {
  test.each([
    ["with a key", { key: () => "k" }, "workers-1-0"],
    ["without a key", {}, "workers-any"],
  ])("handles what was on its way to it: %s", async (_, own, consumer) => {
    const testNats = await TestNats.start('jetstream: { store_dir: "$FOLDER" }');
    const proxy = await startProxy({ port: testNats.nats.port });
    onTestFinished(() => proxy.close());
    const far = await testNats.connect({ port: proxy.port });
    const handled: number[] = [];
    const server = createServer({ note: (i: number) => void handled.push(i) }, { log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const where = { subject: "jobs", partitions: 1 };
    const worker = await serveDurable(server, far, {
      ...where,
      storage: "memory",
      maxInFlight: 1,
    });
    const near = await testNats.connect();
    const manager = await jetstreamManager(near, patient);
    const counts = () => manager.consumers.info("JOBS", consumer);
    const publisher = createClient(durableLink(near, { ...where, ...own }));
    // Having handled one, the worker has just requested the next.
    await publisher.notify("note", [6]);
    await expect.poll(() => handled).toEqual([6]);
    await expect.poll(async () => (await counts()).num_waiting).toBe(1);
    proxy.freeze();
    await publisher.notify("note", [7]);
    await expect.poll(async () => (await counts()).num_ack_pending).toBe(1);
    const closed = worker.close();
    proxy.thaw();
    await closed;
    expect(handled).toEqual([6, 7]);
    expect(await counts()).toMatchObject({ num_ack_pending: 0, num_pending: 0 });
  });

  test("leaves what failed to the next worker, which gets it soon", async () => {
    const testNats = await TestNats.start('jetstream: { store_dir: "$FOLDER" }');
    const connection = await testNats.connect();
    const where = { subject: "jobs", partitions: 1 };
    const publisher = createClient(durableLink(connection, { ...where, key: () => "k" }));
    const serve = async (note: () => Promise<void>): Promise<Server> => {
      const server = createServer({ note }, { log: silentLog });
      const own = { storage: "memory", delayMs: 0, ackWaitMs: 600_000 } as const;
      await serveDurable(server, connection, { ...where, ...own });
      return server;
    };
    for (let i = 0; i < 10; i++) {
      const [given, end, done] = [deferred(), deferred(), deferred()];
      const first = await serve(async () => {
        given.resolve();
        await end.promise;
        throw new Error("not yet");
      });
      await publisher.notify("note");
      await given.promise;
      const closed = first.close();
      // It takes nothing more when its method fails, and nats-server must not hold the notification
      // back for it.
      for (let i = 0; i < 3; i++) await connection.flush();
      end.resolve();
      await closed;
      const second = await serve(async () => done.resolve());
      await done.promise;
      await second.close();
    }
  });
});
