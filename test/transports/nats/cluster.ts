import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { ownPort } from "../../own-port.ts";
import { type NatsServer, startNats } from "./nats-server.ts";

/** Retries until it works; the test's own limit is the limit. */
export async function retrying<T>(run: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await run();
    } catch {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Resolves when the nodes have found each other and can store on all three. */
export async function formed(nodes: readonly NatsServer[]): Promise<void> {
  const connection = await connect({ port: nodes[0]?.port ?? 0 });
  await retrying(async () => {
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: "PROBE", subjects: ["probe"], num_replicas: nodes.length });
    await manager.streams.delete("PROBE");
  });
  await connection.close();
}

/** Three nodes, `n0` to `n2`. */
export async function startCluster(): Promise<NatsServer[]> {
  const routes = await Promise.all([1, 2, 3].map(ownPort));
  const list = routes.map((port) => `"nats://127.0.0.1:${port}"`).join(", ");
  return Promise.all(
    routes.map((port, i) =>
      startNats(`
        server_name: n${i}
        jetstream: { store_dir: "$FOLDER" }
        cluster: { name: three, listen: "127.0.0.1:${port}", routes: [${list}] }`),
    ),
  );
}
