import { type JetStreamManager, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { createClient, createServer, type Methods, silentLog } from "callwire";
import { durableLink, serveDurable } from "callwire/nats/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { standstill } from "../standstill.ts";
import { formed, retrying, startCluster } from "./cluster.ts";
import type { NatsServer } from "./nats-server.ts";

const where = { subject: "jobs", replicas: 3 };

describeWith(["nats-server"], "the spare stream of durable notifications, in a cluster", () => {
  async function open(nodes: readonly NatsServer[]): Promise<NatsConnection> {
    const connection = await connect({
      servers: nodes.map(({ port }) => `127.0.0.1:${port}`),
      reconnectTimeWait: 50,
      maxReconnectAttempts: -1,
    });
    onTestFinished(() => connection.close());
    return connection;
  }

  async function serve(methods: Methods, connection: NatsConnection): Promise<void> {
    const server = createServer(methods, { log: silentLog });
    await serveDurable(server, connection, { ...where, delayMs: 1 });
    onTestFinished(() => server.close({ drainMs: 0 }));
  }

  /** A worker that makes the streams and leaves. */
  async function serveOnce(connection: NatsConnection): Promise<void> {
    const server = createServer({}, { log: silentLog });
    await serveDurable(server, connection, where);
    await server.close();
  }

  test("takes what comes while the nodes elect, and its id is known afterwards", async () => {
    const nodes = await startCluster();
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    });
    await formed(nodes);
    const connection = await open(nodes);
    const handled = new Map<string, ReturnType<typeof deferred<void>>>();
    const entry = (name: string) => {
      const known = handled.get(name) ?? deferred();
      handled.set(name, known);
      return known;
    };
    const at = (name: string) => entry(name).promise;
    const methods = { note: (name: string) => entry(name).resolve() };
    await serveOnce(connection);
    const manager = await jetstreamManager(connection);
    await misplace(manager, connection);
    // A worker looks who leads what when it starts.
    await serve(methods, connection);
    await serve(methods, await open(nodes.toReversed()));
    const leaders = await apart(manager);

    const jobs = createClient(durableLink(connection, { subject: "jobs" }), { timeoutMs: 60_000 });
    await jobs.notify("note", ["before"]);
    await at("before");

    await (nodes[Number(leaders.home?.slice(1))] as NatsServer).kill();
    // Nobody can tell it of the stream yet.
    const started = serve(methods, await open(nodes));
    // The first may be on its way to the node that is gone, and then nobody knows whether it is stored.
    await jobs.notify("note", ["first"]);
    await jobs.notify("note", ["meanwhile"]);
    await jobs.notify("note", ["named"], { headers: { "nats-msg-id": "order 7" } });
    await at("meanwhile");
    // While the nodes elect who leads them, one that does not lead the consumer may answer first.
    const info = () => manager.consumers.info("JOBS_SPARE", "workers-any");
    const { delivered } = await retrying(info);
    expect(delivered.stream_seq).toBeGreaterThan(0);
    await Promise.all([at("first"), at("named")]);
    const client = jetstream(connection);
    const text = '{"jsonrpc":"2.0","method":"note","params":["again"]}';
    const again = await retrying(() => client.publish("jobs.any.note", text, { msgID: "order 7" }));
    expect(again.duplicate).toBe(true);
    await started;
  }, 240_000);
});

interface Placement {
  readonly home: string | undefined;
  readonly homeConsumer: string | undefined;
  readonly spare: string | undefined;
  readonly spareConsumer: string | undefined;
}

async function leadersOf(manager: JetStreamManager): Promise<Placement> {
  const leader = ({ cluster }: { cluster?: { leader?: string } }) => cluster?.leader;
  return {
    home: leader(await manager.streams.info("JOBS")),
    homeConsumer: leader(await manager.consumers.info("JOBS", "workers-any")),
    spare: leader(await manager.streams.info("JOBS_SPARE")),
    spareConsumer: leader(await manager.consumers.info("JOBS_SPARE", "workers-any")),
  };
}

/** Whichever node dies, one of the two goes on. */
function areApart({ home, homeConsumer, spare, spareConsumer }: Placement): boolean {
  const isLed = home !== undefined && home === homeConsumer;
  return isLed && spare !== home && spareConsumer !== home;
}

/** Resolves when those who lead are apart, and the last order to move one of them has been followed. */
async function apart(manager: JetStreamManager): Promise<Placement> {
  for (;;) {
    const placement = await standstill(async () => {
      return JSON.stringify(await retrying(() => leadersOf(manager)));
    });
    const leaders = JSON.parse(placement) as Placement;
    if (areApart(leaders)) return leaders;
  }
}

/** Lets one node lead both streams. */
async function misplace(manager: JetStreamManager, connection: NatsConnection): Promise<void> {
  for (;;) {
    const { home, spare } = await retrying(() => leadersOf(manager));
    if (home === spare) return;
    await retrying(() => connection.request("$JS.API.STREAM.LEADER.STEPDOWN.JOBS_SPARE"));
  }
}
