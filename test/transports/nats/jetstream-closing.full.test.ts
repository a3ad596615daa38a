import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { createClient, createServer, type Server, silentLog } from "callwire";
import { durableLink, serveDurable } from "callwire/nats/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { formed, startCluster } from "./cluster.ts";
import type { NatsServer } from "./nats-server.ts";

describeWith(["nats-server"], "a worker of durable notifications that closes, in a cluster", () => {
  test("handles what a leader on another node of a cluster has sent it", async () => {
    const nodes = await startCluster();
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    });
    await formed(nodes);
    const open = async (node: NatsServer | undefined): Promise<NatsConnection> => {
      const connection = await connect({ port: node?.port ?? 0, ignoreClusterUpdates: true });
      onTestFinished(() => connection.close());
      return connection;
    };
    const where = { subject: "jobs" };
    const handled = new Set<number>();
    const note = (i: number) => void handled.add(i);
    const serve = async (connection: NatsConnection): Promise<Server> => {
      const server = createServer({ note }, { log: silentLog });
      await serveDurable(server, connection, { ...where, ackWaitMs: 600_000 });
      return server;
    };
    const near = await open(nodes[0]);
    await (await serve(near)).close();
    const { cluster } = await (await jetstreamManager(near)).streams.info("JOBS");
    const far = await open(nodes.find((_, i) => `n${i}` !== cluster?.leader));
    const publisher = createClient(durableLink(near, where));
    let sent = 0;
    for (let round = 0; round < 3; round++) {
      const worker = await serve(far);
      let isClosed = false;
      const closed = worker.close().then(() => {
        isClosed = true;
      });
      while (!isClosed) await publisher.notify("note", [sent++]);
      await closed;
    }
    const last = await serve(far);
    await expect.poll(() => handled.size, { timeout: 60_000 }).toBe(sent);
    await last.close();
  }, 240_000);
});
