import { createClient, createServer, silentLog } from "callwire";
import { durableLink, serveDurable } from "callwire/nats/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { RestartableNats } from "./restartable-nats.ts";

describeWith(["nats-server"], "durable notifications that fail while NATS is restarted", () => {
  test("are tried again soon if the request for that was lost with the connection", async () => {
    const testNats = await RestartableNats.start();
    const where = { subject: "jobs", partitions: 1 };
    const [started, isAway, done] = [deferred(), deferred(), deferred()];
    let tries = 0;
    const note = async () => {
      started.resolve();
      await isAway.promise;
      if (++tries === 1) throw new Error("not yet");
      done.resolve();
    };
    const connection = await testNats.connect();
    const server = createServer({ note }, { log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    // NATS must be back within the delay: later, no worker may request another try.
    const options = { ...where, ackWaitMs: 600_000, delayMs: 5_000 };
    await serveDurable(server, connection, options);
    const link = durableLink(await testNats.connect(), { ...where, key: () => "k" });
    await createClient(link).notify("note");
    await started.promise;
    await testNats.stop(connection);
    isAway.resolve();
    await testNats.start(connection);
    await done.promise;
    expect(tries).toBe(2);
  });
});
