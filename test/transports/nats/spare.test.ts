import { createHmac } from "node:crypto";
import { type JetStreamManager, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { createClient, createServer, type Log, type Methods, RpcError, silentLog } from "callwire";
import { durableLink, type ServeDurableOptions, serveDurable } from "callwire/nats/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { standstill } from "../standstill.ts";
import { formed, retrying, startCluster } from "./cluster.ts";
import { type NatsServer, startNats } from "./nats-server.ts";

describeWith(["nats-server"], "the spare stream of durable notifications", () => {
  async function open(nodes: readonly NatsServer[], user = ""): Promise<NatsConnection> {
    const connection = await connect({
      servers: nodes.map(({ port }) => `127.0.0.1:${port}`),
      reconnectTimeWait: 50,
      maxReconnectAttempts: -1,
      ...(user === "" ? {} : { user, pass: user }),
    });
    onTestFinished(() => connection.close());
    return connection;
  }

  async function serve(
    methods: Methods,
    connection: NatsConnection,
    options: Partial<ServeDurableOptions> & { readonly log?: Log } = {},
  ): Promise<void> {
    const { log = silentLog, ...own } = options;
    const server = createServer(methods, { log });
    await serveDurable(server, connection, { subject: "jobs", delayMs: 1, ...own });
    onTestFinished(() => server.close({ drainMs: 0 }));
  }

  /** A worker that makes the streams and leaves. */
  async function serveOnce(
    connection: NatsConnection,
    options: Partial<ServeDurableOptions>,
  ): Promise<void> {
    const server = createServer({}, { log: silentLog });
    await serveDurable(server, connection, { subject: "jobs", ...options });
    await server.close();
  }

  async function single(config = ""): Promise<NatsServer> {
    const nats = await startNats(`jetstream: { store_dir: "$FOLDER" }\n${config}`);
    onTestFinished(() => nats.stop());
    return nats;
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
    await serveOnce(connection, { replicas: 3 });
    const manager = await jetstreamManager(connection);
    await misplace(manager, connection);
    // A worker looks who leads what when it starts.
    await serve(methods, connection, { replicas: 3 });
    await serve(methods, await open(nodes.toReversed()), { replicas: 3 });
    const leaders = await apart(manager);

    const jobs = createClient(durableLink(connection, { subject: "jobs" }), { timeoutMs: 60_000 });
    await jobs.notify("note", ["before"]);
    await at("before");

    await (nodes[Number(leaders.home?.slice(1))] as NatsServer).kill();
    // Nobody can tell it of the stream yet.
    const started = serve(methods, await open(nodes), { replicas: 3 });
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
    // As a link writes the id for this subject.
    const msgID = createHmac("sha256", "")
      .update(JSON.stringify(["jobs.any.note", "order 7"]))
      .digest("base64url");
    const again = await retrying(() => client.publish("jobs.any.note", text, { msgID }));
    expect(again.duplicate).toBe(true);
    await started;
  }, 240_000);

  test("is served by workers that did not ask for it", async () => {
    const nats = await single();
    const connection = await open([nats]);
    await serveOnce(connection, { spare: true });
    const seen = deferred<string>();
    await serve({ note: seen.resolve }, await open([nats]));
    const text = '{"jsonrpc":"2.0","method":"note","params":["here"]}';
    await jetstream(connection).publish("jobs-spare.any.note", text);
    expect(await seen.promise).toBe("here");
  });

  test("hands what comes back to the stream that it is for, once", async () => {
    const nats = await single();
    const connection = await open([nats]);
    const seen: string[] = [];
    const last = deferred();
    const note = (text: string) => {
      seen.push(text);
      if (text === "last") last.resolve();
    };
    // One at a time, so that what was stored first is handled first.
    await serve({ note }, connection, { spare: true, maxInFlight: 1 });
    const client = jetstream(connection);
    const text = (name: string) => `{"jsonrpc":"2.0","method":"note","params":["${name}"]}`;
    await client.publish("jobs.any.note", text("first"), { msgID: "1" });
    await client.publish("jobs-spare.back.note", text("first"), { msgID: "1" });
    await client.publish("jobs-spare.back.note", text("second"), { msgID: "2" });
    const manager = await jetstreamManager(connection);
    while ((await manager.streams.info("JOBS_SPARE")).state.messages > 0);
    await client.publish("jobs.any.note", text("second"), { msgID: "2" });
    await client.publish("jobs.any.note", text("last"));
    await last.promise;
    expect(seen).toEqual(["first", "second", "last"]);
  });

  test("has its dead letters beside the others", async () => {
    const nats = await single();
    const connection = await open([nats]);
    const refuse = () => {
      throw new RpcError(1001, "Never");
    };
    await serve({ refuse }, connection, { spare: true, maxTries: 1 });
    const dead: string[] = [];
    const both = deferred();
    connection.subscribe("jobs-dead.>", {
      callback: (_, message) => {
        dead.push(message.subject);
        if (dead.length === 2) both.resolve();
      },
    });
    const client = jetstream(connection);
    const text = '{"jsonrpc":"2.0","method":"refuse"}';
    await client.publish("jobs.any.refuse", text);
    await client.publish("jobs-spare.any.refuse", text);
    await both.promise;
    expect(dead).toEqual(["jobs-dead.any.refuse", "jobs-dead.any.refuse"]);
    const manager = await jetstreamManager(connection);
    while ((await manager.streams.info("JOBS_SPARE")).state.messages > 0);
    // The first of one stream is not taken for the first of the other.
    expect((await manager.streams.info("JOBS_DEAD")).state.messages).toBe(2);
  });

  test("says so where its worker may not see who leads", async () => {
    const nats = await single(`authorization: { users: [
      { user: blind, password: blind, permissions: { subscribe: { deny: "$JS.EVENT.>" } } }
    ] }`);
    const told = deferred<object>();
    const log = {
      ...silentLog,
      warn: (fields: object, message: string) => told.resolve({ ...fields, message }),
    };
    await serve({}, await open([nats], "blind"), { spare: true, log });
    expect(await told.promise).toMatchObject({
      streams: ["JOBS", "JOBS_SPARE"],
      message: "this worker cannot keep those apart who lead the two streams",
    });
  });
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
