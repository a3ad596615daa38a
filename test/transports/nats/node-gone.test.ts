import { connect, type NatsConnection } from "@nats-io/transport-node";
import { createClient, createServer, type Methods, silentLog } from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { retrying, startCluster } from "./cluster.ts";
import type { NatsServer } from "./nats-server.ts";

describeWith(["nats-server"], "calls when a node dies", () => {
  async function open(...nodes: readonly NatsServer[]): Promise<NatsConnection> {
    const connection = await connect({
      servers: nodes.map(({ port }) => `127.0.0.1:${port}`),
      noRandomize: true,
      reconnectTimeWait: 50,
      maxReconnectAttempts: -1,
    });
    onTestFinished(() => connection.close());
    return connection;
  }

  async function serve(methods: Methods, connection: NatsConnection): Promise<void> {
    const server = createServer(methods, { log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    await serveNats(server, connection, { subject: "test" });
  }

  test("are lost soon if they were on their way through it, or go to a worker that is there; others are not", async () => {
    const nodes = await startCluster();
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    });
    const [first, second, third] = nodes as [NatsServer, NatsServer, NatsServer];
    const held = deferred<string>();
    const begun = deferred();
    const hold = () => {
      begun.resolve();
      return held.promise;
    };
    const without = deferred<string>();
    const late = () => without.promise;
    const moving = await open(first, second, third);
    await serve({ far: (n: number) => n, late }, moving);
    void (async () => {
      for await (const { type } of moving.status()) {
        if (type === "disconnect") setImmediate(without.resolve, "between two nodes");
      }
    })();
    await serve({ hold }, await open(second));
    const connection = await open(second, third);
    // By itself, it would ask after them too late for this test.
    const link = natsLink(connection, { subject: "test", aliveMs: 60_000 });
    const client = createClient(link, { timeoutMs: 600_000 });
    // Until the nodes have told each other who serves what.
    expect(await retrying(() => client.call("far", [1]))).toBe(1);
    const kept = client.call("hold");
    await begun.promise;
    const answered = client.call("late");
    await connection.flush();

    first.freeze();
    const lost = client.call("far", [2]);
    const repeated = client.call("far", [3], { idempotent: true });
    await connection.flush();
    await first.kill();
    expect(await answered).toBe("between two nodes");
    await expect(lost).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    expect(await repeated).toBe(3);
    held.resolve("still there");
    expect(await kept).toBe("still there");
  });
});
