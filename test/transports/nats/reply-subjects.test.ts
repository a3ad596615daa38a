/**
 * Which reply subjects a message may have. nats-server does not check the reply subject that a
 * client writes.
 */
import { readdirSync, readFileSync } from "node:fs";
import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { createClient, createServer, type Log, silentLog, stream } from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { patient, TestNats } from "./test-nats.ts";

const subject = "rpc";
const textOf = (message: object): string => JSON.stringify({ jsonrpc: "2.0", ...message });
const echo = (id: number): string => textOf({ method: "echo", params: ["hi"], id });
const login = (user: string) => ({ user, pass: user });

/** A worker with all permissions, and a caller that may call a single method. */
async function scene(log: Log = silentLog, clock = new FakeClock()) {
  const testNats = await TestNats.start(`
    jetstream: { store_dir: "$FOLDER" }
    authorization: { users: [
      { user: admin, password: admin }
      { user: caller, password: caller, permissions: {
        publish: ["rpc.echo", "rpc.wait", "_CALLWIRE.rpc.>", "$SRV.>"], subscribe: ["_INBOX.>"] } }
    ] }`);
  const connection = await testNats.connect(login("admin"));
  let open = 0;
  const server = createServer(
    {
      echo: (text: string) => text,
      other: (text: string) => text,
      wait: stream({}, async function* (_, { signal }) {
        open++;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        open--;
      }),
    },
    { log },
  );
  onTestFinished(() => server.close({ drainMs: 0 }));
  const worker = await serveNats(server, connection, { subject, clock });
  const admin = await testNats.connect(login("admin"));
  const caller = await testNats.connect(login("caller"));
  /**
   * Resolves when the worker has handled everything that this caller sent to one subject before.
   */
  const handled = async (): Promise<void> => {
    for (const id of [1, 2]) {
      const reply = await caller.request("rpc.echo", echo(id), patient);
      expect(reply.json()).toMatchObject({ result: "hi" });
    }
    await settled(caller, connection, admin);
  };
  /** Lets time pass until no stream is open, up to a limit. */
  const waitForEnds = async (): Promise<void> => {
    for (let round = 0; open > 0 && round < 100; round++) {
      clock.advance(5_000);
      await settled(connection);
    }
  };
  return {
    testNats,
    admin,
    caller,
    connection,
    worker,
    clock,
    handled,
    waitForEnds,
    open: () => open,
  };
}

/** Long enough that everything that was sent has arrived, and has been answered. */
async function settled(...connections: NatsConnection[]): Promise<void> {
  for (let i = 0; i < 3; i++) for (const each of connections) await each.flush();
}

/** Counts the messages of a subject. */
async function count(connection: NatsConnection, where: string): Promise<() => number> {
  let heard = 0;
  connection.subscribe(where, { callback: () => void heard++ });
  await connection.flush();
  return () => heard;
}

test("every message on NATS passes the check of its reply subject", () => {
  const folder = new URL("../../../src/transports/nats/", import.meta.url);
  const unchecked = readdirSync(folder)
    .filter((name) => name.endsWith(".ts") && name !== "mailbox.ts")
    .filter((name) => {
      const code = readFileSync(new URL(name, folder), "utf8");
      return /\.(subscribe|respond)\(|\b(message|source)\.reply\b/.test(code);
    });
  expect(unchecked).toEqual([]);
});

describeWith(["nats-server"], "a reply subject on NATS", () => {
  test("does not have a worker purge a stream", async () => {
    const { admin, caller, handled } = await scene();
    const { streams } = await jetstreamManager(admin);
    await streams.add({ name: "ORDERS", subjects: ["orders.>"] });
    await admin.request("orders.new", "one", patient);
    caller.publish("rpc.echo", echo(1), { reply: "$JS.API.STREAM.PURGE.ORDERS" });
    await handled();
    expect((await streams.info("ORDERS")).state.messages).toBe(1);
  });

  test("does not make a worker publish where its caller may not, whatever is sent to it", async () => {
    const { admin, caller, worker, handled } = await scene();
    const heard = await count(admin, "orders.new");
    const mailbox = `_CALLWIRE.rpc.${worker.id}.cw`;
    const sent: readonly (readonly [string, string])[] = [
      ["rpc.echo", echo(1)],
      ["rpc.echo", "no JSON"],
      ["rpc.echo", textOf({ method: "other", id: 1 })],
      ["rpc.echo", textOf({ method: "$/hello" })],
      ["rpc.wait", textOf({ method: "wait", id: 1 })],
      ["_CALLWIRE.rpc.workers", textOf({ method: "$/hello" })],
      [`${mailbox}.0`, textOf({ method: "$/ping", params: { held: ["o1"] } })],
      [`${mailbox}.0`, textOf({ method: "$/hello" })],
      [`${mailbox}.c1`, textOf({ method: "$/held" })],
      [`${mailbox}.o1`, echo(1)],
      ["$SRV.PING", ""],
      ["$SRV.INFO", ""],
    ];
    for (const [to, text] of sent) caller.publish(to, text, { reply: "orders.new" });
    await handled();
    expect(heard()).toBe(0);
  });

  test("does not make workers answer each other without end", async () => {
    const { admin, caller, handled, worker } = await scene();
    const heard = await count(admin, "rpc.other");
    const atWorker = await count(admin, "_CALLWIRE.rpc.>");
    for (const reply of ["rpc.other", "rpc.echo", "rpc.$any", `_CALLWIRE.rpc.${worker.id}.cw.0`]) {
      caller.publish("rpc.echo", echo(1), { reply });
    }
    await handled();
    expect([heard(), atWorker()]).toEqual([0, 0]);
  });

  test("that is refused is logged once a minute, and the call does not run", async () => {
    const logged: object[] = [];
    const log = { ...silentLog, warn: (fields: object) => void logged.push(fields) };
    const clock = new FakeClock();
    const { caller, handled, open } = await scene(log, clock);
    const publish = (i: number): void =>
      caller.publish("rpc.wait", textOf({ method: "wait", id: i }), { reply: `other.${i}` });
    for (let i = 0; i < 120; i++) publish(i);
    await handled();
    clock.advance(60_000);
    publish(120);
    await handled();
    expect(open()).toBe(0);
    const fields = { worker: "rpc", subject: "rpc.wait" };
    expect(logged).toEqual([
      { ...fields, reply: "other.0", unlogged: 0 },
      { ...fields, reply: "other.120", unlogged: 119 },
    ]);
  });

  test("may be under a prefix that the worker was given, or that of its own connection", async () => {
    const testNats = await TestNats.start();
    const connection = await testNats.connect({ inboxPrefix: "_WORKER" });
    const server = createServer({ echo: (text: string) => text }, { log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    await serveNats(server, connection, { subject, inboxPrefixes: ["inbox.ann"] });
    for (const inboxPrefix of ["inbox.ann", "_WORKER", "_INBOX", "_INBOX.bob"]) {
      const client = createClient(natsLink(await testNats.connect({ inboxPrefix }), { subject }));
      expect(await client.call("echo", ["hi"])).toBe("hi");
    }
    for (const prefix of ["", "$JS", "_CALLWIRE.x", "rpc", "rpc.inbox", "a.*", ">", "a b", "a."]) {
      const serving = serveNats(server, connection, { subject, inboxPrefixes: [prefix] });
      await expect(serving).rejects.toThrow(/^an inbox prefix must be a subject/);
    }
  });

  test("of a worker does not make a link publish where that worker may not", async () => {
    const testNats = await TestNats.start();
    const [victim, evil] = await Promise.all([testNats.connect(), testNats.connect()]);
    const heard = await count(evil, "orders.new");
    const called = deferred<string>();
    evil.subscribe("rpc.items", { callback: (_, { reply = "" }) => called.resolve(reply) });
    await evil.flush();
    const service = createServer({ sure: () => "yes" }, { log: silentLog });
    const items = createClient(natsLink(victim, { subject, service })).stream("items");
    const reading = items[Symbol.asyncIterator]();
    const next = reading.next();
    const reply = await called.promise;
    const doorbell = `${reply.slice(0, reply.lastIndexOf("."))}.0`;
    const unkept = { method: "$/ping", params: { held: ["o999"] } };
    evil.publish(doorbell, textOf(unkept), { reply: "orders.new" });
    evil.publish(doorbell, textOf({ method: "sure", id: 1 }), { reply: "orders.new" });
    evil.publish(reply, textOf({ method: "sure", id: 2 }), { reply: "orders.new" });
    const item = textOf({ method: "$/stream", params: { id: 1, value: 1 } });
    evil.publish(reply, item, { reply: "orders.new" });
    expect((await next).value).toBe(1);
    // Its cancel goes to the peer that claimed to have the call.
    await reading.return?.();
    await settled(victim, evil);
    expect(heard()).toBe(0);
  });

  test("that belongs to another call does not make a link answer itself without end", async () => {
    const testNats = await TestNats.start();
    const [victim, evil] = await Promise.all([testNats.connect(), testNats.connect()]);
    const gate = deferred();
    onTestFinished(() => gate.resolve());
    const service = createServer(
      {
        ticks: stream({}, async function* () {
          yield 1;
          await gate.promise;
        }),
      },
      { log: silentLog },
    );
    const called = deferred<string>();
    evil.subscribe("rpc.items", { callback: (_, { reply = "" }) => called.resolve(reply) });
    const address = deferred<string>();
    evil.subscribe("_CALLWIRE.rpc.evil.cw.*", {
      callback: (_, { reply = "" }) => void (reply && address.resolve(reply)),
    });
    await evil.flush();
    const call = createClient(natsLink(victim, { subject, service })).call("items");
    call.catch(() => {});
    const ticks = textOf({ method: "ticks", id: 1 });
    evil.publish(await called.promise, ticks, { reply: "_CALLWIRE.rpc.evil.cw.o1" });
    const itself = await address.promise;
    const heard = await count(evil, itself);
    evil.publish(itself, textOf({ method: "$/held" }), { reply: itself });
    await settled(evil, victim);
    await settled(evil, victim);
    expect(heard()).toBe(1);
  });
});

describeWith(["nats-server"], "a stream for a caller that does not exist", () => {
  test.each([
    ["a plain inbox", (i: number) => `_INBOX.nobody${i}.x`],
    ["a mailbox", (i: number) => `_INBOX.nobody${i}.cw.o1`],
  ])("ends when the worker has probed %s, although it never sent an item", async (_, replyOf) => {
    const { caller, handled, waitForEnds, open } = await scene();
    const streams = 50;
    for (let i = 0; i < streams; i++) {
      caller.publish("rpc.wait", textOf({ method: "wait", id: 1 }), { reply: replyOf(i) });
    }
    await handled();
    expect(open()).toBe(streams);
    await waitForEnds();
    expect(open()).toBe(0);
  });

  test("continues while the caller listens, although it sends nothing", async () => {
    const { caller, connection, handled, open, clock } = await scene();
    caller.subscribe("_INBOX.somebody.x", { callback: () => {} });
    const call = textOf({ method: "wait", id: 1 });
    caller.publish("rpc.wait", call, { reply: "_INBOX.somebody.x" });
    await handled();
    for (let round = 0; round < 20; round++) {
      clock.advance(5_000);
      await settled(connection);
    }
    expect(open()).toBe(1);
  });

  test("ends in another account after some time without a sign, and continues where a link reads it", async () => {
    const shared = ["rpc.>", "_CALLWIRE.rpc.>"];
    const exports = shared.map((service) => `{ service: "${service}", response_type: stream }`);
    const imports = shared.map((each) => `{ service: { account: WORKERS, subject: "${each}" } }`);
    const testNats = await TestNats.start(`accounts {
      WORKERS { users: [{ user: worker, password: worker }], exports: [${exports}] }
      BLUE { users: [{ user: blue, password: blue }], imports: [${imports}] }
    }`);
    const connection = await testNats.connect(login("worker"));
    const clock = new FakeClock();
    const open = new Set<string>();
    const server = createServer(
      {
        wait: stream({}, async function* (params, { signal }) {
          const name = `${params}`;
          open.add(name);
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          open.delete(name);
        }),
        echo: () => "hi",
      },
      { log: silentLog },
    );
    onTestFinished(() => server.close({ drainMs: 0 }));
    await serveNats(server, connection, { subject, clock, callerSilenceMs: 50_000 });
    const gone = await testNats.connect(login("blue"));
    const call = textOf({ method: "wait", params: ["gone"], id: 1 });
    gone.publish("rpc.wait", call, { reply: "_INBOX.gone.x" });
    await gone.flush();
    await gone.close();
    const blue = await testNats.connect(login("blue"));
    const client = createClient(natsLink(blue, { subject, clock }));
    const items = client.stream("wait", ["there"])[Symbol.asyncIterator]();
    items.next().catch(() => {});
    while (open.size < 2) await client.call("echo");
    for (let round = 0; open.has("gone") && round < 100; round++) {
      clock.advance(5_000);
      await settled(connection, blue);
    }
    for (let round = 0; round < 20; round++) {
      clock.advance(5_000);
      await settled(connection, blue, connection);
    }
    expect([...open]).toEqual(["there"]);
    await items.return?.();
  });
});
