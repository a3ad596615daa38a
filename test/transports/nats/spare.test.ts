import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { createServer, type Log, type Methods, RpcError, silentLog } from "callwire";
import { type ServeDurableOptions, serveDurable } from "callwire/nats/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { patient } from "./engine.ts";
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

  test("is served by workers that did not ask for it", async () => {
    const nats = await single();
    const connection = await open([nats]);
    await serveOnce(connection, { spare: true });
    const seen = deferred<string>();
    await serve({ note: seen.resolve }, await open([nats]));
    const text = '{"jsonrpc":"2.0","method":"note","params":["here"]}';
    await jetstream(connection, patient).publish("jobs-spare.any.note", text);
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
    const client = jetstream(connection, patient);
    const text = (name: string) => `{"jsonrpc":"2.0","method":"note","params":["${name}"]}`;
    await client.publish("jobs.any.note", text("first"), { msgID: "1" });
    await client.publish("jobs-spare.back.note", text("first"), { msgID: "1" });
    await client.publish("jobs-spare.back.note", text("second"), { msgID: "2" });
    const manager = await jetstreamManager(connection, patient);
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
    const client = jetstream(connection, patient);
    const text = '{"jsonrpc":"2.0","method":"refuse"}';
    await client.publish("jobs.any.refuse", text);
    await client.publish("jobs-spare.any.refuse", text);
    await both.promise;
    expect(dead).toEqual(["jobs-dead.any.refuse", "jobs-dead.any.refuse"]);
    const manager = await jetstreamManager(connection, patient);
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
