import { jetstreamManager } from "@nats-io/jetstream";
import { createClient, createServer, method, silentLog } from "callwire";
import { durableLink, serveDurable } from "callwire/nats/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { patient, TestNats } from "./test-nats.ts";

describeWith(["nats-server"], "durable notifications whose consumer or stream is deleted", () => {
  test("are still handled", async () => {
    const testNats = await TestNats.start('jetstream: { store_dir: "$FOLDER" }');
    const told: string[] = [];
    const warn = (_: object, message: string) => told.push(message);
    let runs = 0;
    const note = method({}, () => void runs++);
    const server = createServer({ note }, { log: { ...silentLog, warn } });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const where = { subject: "jobs" };
    await serveDurable(server, await testNats.connect(), {
      ...where,
      storage: "memory",
      delayMs: 1,
    });
    const client = createClient(durableLink(await testNats.connect(), where));
    const manager = await jetstreamManager(await testNats.connect(), patient);
    await manager.consumers.delete("JOBS", "workers-any");
    await client.notify("note");
    await expect.poll(() => runs).toBe(1);
    expect(told).toEqual(["JetStream consumer was missing; recreated it"]);
    await manager.streams.delete("JOBS");
    // Until there is a stream again, the link refuses at once.
    const isStored = () =>
      client.notify("note").then(
        () => true,
        () => false,
      );
    await expect.poll(isStored).toBe(true);
    await expect.poll(() => runs).toBe(2);
  });
});
