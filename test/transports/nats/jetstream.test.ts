import { deepStrictEqual } from "node:assert";
import { DiscardPolicy, jetstreamManager, RetentionPolicy } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import {
  createClient,
  createServer,
  ErrorCode,
  type Log,
  type Methods,
  method,
  RpcError,
  silentLog,
} from "callwire";
import { durableLink, type ServeDurableOptions, serveDurable } from "callwire/nats/jetstream";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { isFull } from "../../full.ts";
import { oneOfEach } from "../../rich-values.ts";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { startProxy } from "../contract.ts";
import { turn } from "../contract-methods.ts";
import { type NatsServer, startNats } from "./nats-server.ts";
import { patient } from "./test-nats.ts";

describeWith(["nats-server"], "durable notifications", () => {
  let nats: NatsServer;
  beforeAll(async () => {
    nats = await startNats('jetstream: { store_dir: "$FOLDER" }');
  });
  afterAll(() => nats.stop());

  let subjects = 0;

  async function open(port = nats.port): Promise<NatsConnection> {
    const connection = await connect({ port });
    onTestFinished(() => connection.close());
    return connection;
  }

  /** A worker with quick retries. */
  async function serve(
    methods: Methods,
    options: Partial<ServeDurableOptions> & { readonly subject: string; readonly log?: Log },
  ): Promise<{ connection: NatsConnection; close(): Promise<void> }> {
    const connection = await open();
    const { log = silentLog, ...own } = options;
    const server = createServer(methods, { log });
    const quick = { delayMs: 1, storage: "memory", ...own } as const;
    await serveDurable(server, connection, quick);
    onTestFinished(() => server.close());
    return { connection, close: () => server.close() };
  }

  test("are stored until there is a worker, and handled once each", async () => {
    const subject = `kept${++subjects}`;
    // The first worker creates the stream and leaves.
    await (await serve({ note: () => {} }, { subject })).close();
    const publisher = createClient(durableLink(await open(), { subject }));
    const sent = Array.from({ length: 100 }, (_, i) => i);
    await Promise.all(sent.map((i) => publisher.notify("note", [i])));
    const handled: number[] = [];
    const all = deferred();
    await serve(
      {
        note: (i: number) => {
          handled.push(i);
          if (handled.length === sent.length) all.resolve();
        },
      },
      { subject },
    );
    await all.promise;
    expect(handled.sort((a, b) => a - b)).toEqual(sent);
  });

  test.each([
    { limits: {}, named: undefined },
    { limits: { max_msgs: 10, discard: DiscardPolicy.New }, named: undefined },
    { limits: { max_msgs: 10 }, named: ["max_msgs"] },
    // NATS counts less than an entry takes.
    { limits: { max_bytes: 1_024, discard: DiscardPolicy.New }, named: ["max_bytes"] },
    { limits: { max_age: 1e12 }, named: ["max_age"] },
  ])("a stream with $limits is logged if it can drop notifications", async ({ limits, named }) => {
    const subject = `limited${++subjects}`;
    const stream = subject.toUpperCase();
    const manager = await jetstreamManager(await open(), patient);
    await manager.streams.add({
      name: stream,
      subjects: [`${subject}.>`],
      retention: RetentionPolicy.Workqueue,
      ...limits,
    });
    const told: object[] = [];
    const log = { ...silentLog, warn: (fields: object) => void told.push(fields) };
    await serve({}, { subject, log });
    expect(told).toEqual(named === undefined ? [] : [{ stream, limits: named }]);
  });

  test("keep values that JSON cannot express", async () => {
    const subject = `rich${++subjects}`;
    const noted = deferred<unknown>();
    await serve({ note: (value: unknown) => noted.resolve(value) }, { subject });
    const publisher = createClient(durableLink(await open(), { subject }), { values: "rich" });
    await publisher.notify("note", [oneOfEach]);
    deepStrictEqual(await noted.promise, oneOfEach);
  });

  test("are acknowledged after the handler, and tried again when it fails", async () => {
    const subject = `tried${++subjects}`;
    const done = deferred();
    let tries = 0;
    const { connection } = await serve(
      {
        work: method({ params: z.object({ x: z.number() }) }, async () => {
          if (++tries < 3) throw new Error("not yet");
          done.resolve();
        }),
      },
      { subject },
    );
    const publisher = createClient(durableLink(await open(), { subject }));
    await publisher.notify("work", { x: 1 });
    await done.promise;
    expect(tries).toBe(3);
    const manager = await jetstreamManager(connection, patient);
    // Acknowledged, it leaves the stream.
    while ((await manager.streams.info(subject.toUpperCase())).state.messages > 0);
  });

  test("go to the dead letters after so many tries, with the reason", async () => {
    const subject = `dead${++subjects}`;
    let tries = 0;
    const told: object[] = [];
    const warn = (fields: object, message: string) => told.push({ ...fields, message });
    const { connection } = await serve(
      {
        refuse: method({}, () => {
          tries++;
          throw new RpcError(1001, "Never\nat all");
        }),
        check: method({ params: z.object({ x: z.number() }) }, () => {}),
      },
      { subject, maxTries: 3, log: { ...silentLog, warn } },
    );
    const dead = deferred<{ headers: Record<string, string[]>; text: string }>();
    const hopeless = deferred<{ headers: Record<string, string[]>; text: string }>();
    connection.subscribe(`${subject}-dead.>`, {
      callback: (_, message) => {
        const headers = Object.fromEntries(message.headers ?? []);
        const target = message.subject.endsWith("refuse") ? dead : hopeless;
        target.resolve({ headers, text: message.string() });
      },
    });
    const publisher = createClient(durableLink(await open(), { subject }));
    await publisher.notify("refuse", { why: 1 }, { headers: { "X-Tenant": "blue" } });
    expect(await dead.promise).toMatchObject({
      headers: {
        "error-code": ["1001"],
        "error-message": ["Never at all"],
        tries: ["3"],
        "x-tenant": ["blue"],
      },
      text: '{"jsonrpc":"2.0","method":"refuse","params":{"why":1}}',
    });
    expect(tries).toBe(3);
    const message = "notification failed and was stored as a dead letter";
    const where = { subject: `${subject}.any.refuse`, to: `${subject}-dead.any.refuse` };
    await expect
      .poll(() => told)
      .toContainEqual(
        expect.objectContaining({
          ...where,
          tries: 3,
          code: 1001,
          error: "Never\nat all",
          message,
        }),
      );
    // Another try would not help if the params are wrong.
    await publisher.notify("check", { x: "no number" });
    expect((await hopeless.promise).headers).toMatchObject({
      "error-code": [`${ErrorCode.InvalidParams}`],
      tries: ["1"],
    });
  });

  test("become dead letters without the reason if there is no room for it", async () => {
    const subject = `full${++subjects}`;
    const refuse = () => {
      throw new RpcError(1001, "x".repeat(1000));
    };
    const { connection } = await serve({ refuse }, { subject, maxTries: 1 });
    const dead = deferred<string>();
    connection.subscribe(`${subject}-dead.>`, {
      callback: (_, message) => dead.resolve(message.string()),
    });
    const publisher = createClient(durableLink(await open(), { subject }));
    const text = "x".repeat((connection.info?.max_payload ?? 0) - 120);
    await publisher.notify("refuse", [text]);
    expect(JSON.parse(await dead.promise)).toMatchObject({ method: "refuse", params: [text] });
  });

  test("wait while the stream of dead letters is missing, and keep their reason", async () => {
    const subject = `buried${++subjects}`;
    const told: { readonly message: string; readonly why?: string }[] = [];
    const warn = (fields: object, message: string) => told.push({ ...fields, message });
    const { connection } = await serve({}, { subject, maxTries: 2, log: { ...silentLog, warn } });
    const manager = await jetstreamManager(connection, patient);
    const stream = `${subject.toUpperCase()}_DEAD`;
    const { config } = await manager.streams.info(stream);
    await manager.streams.delete(stream);
    await createClient(durableLink(await open(), { subject })).notify("unknown");
    await expect
      .poll(() => told)
      .toMatchObject([
        {
          message: "could not store a dead letter; retrying",
          why: `no stream takes ${subject}-dead.any.unknown`,
        },
      ]);
    await manager.streams.add(config);
    await expect
      .poll(() => told.at(-1)?.message)
      .toBe("notification failed and was stored as a dead letter");
    const letter = await manager.streams.getMessage(stream, { seq: 1 });
    expect(letter?.header.get("error-code")).toBe("-32601");
    expect(letter?.header.get("tries")).toBe("1");
  });

  test("have one name for all their workers", async () => {
    const subject = `named${++subjects}`;
    await serve({}, { subject });
    await expect(serve({}, { subject, name: "others" })).rejects.toThrow(
      `workers of another name already take ${subject}.any.> from ${subject.toUpperCase()}; all need the same name`,
    );
  });

  test("are served by workers that start at the same moment", async () => {
    const connections = await Promise.all(Array.from({ length: 8 }, () => open()));
    const server = createServer({ note: () => {} }, { log: silentLog });
    onTestFinished(() => server.close());
    // nats-server confuses one of them with another stream only now and then.
    for (let round = 0; round < (isFull ? 40 : 5); round++) {
      const options = { subject: `together${++subjects}`, storage: "memory" } as const;
      await Promise.all(connections.map((each) => serveDurable(server, each, options)));
    }
  });

  test("on subjects of another stream are not served", async () => {
    const subject = `shared${++subjects}`;
    const manager = await jetstreamManager(await open(), patient);
    await manager.streams.add({ name: `ELSE${subjects}`, subjects: [`${subject}.>`] });
    await expect(serve({}, { subject })).rejects.toThrow(/subjects overlap/);
  });

  test("with headers that cannot be sent are refused by name", async () => {
    const subject = `headed${++subjects}`;
    await serve({ note: () => {} }, { subject });
    const publisher = createClient(durableLink(await open(), { subject }));
    for (const name of ["x-note", "nats-msg-id"]) {
      await expect(
        publisher.notify("note", [], { headers: { [name]: "two\r\nlines" } }),
      ).rejects.toMatchObject({
        code: "UNSUPPORTED",
        message: expect.stringContaining(`NATS does not accept the header "${name}"`),
      });
    }
  });

  test("with invalid keys or message ids are refused", async () => {
    const where = { subject: `nameless${++subjects}`, partitions: 2 };
    await serve({ note: () => {} }, where);
    const connection = await open();
    // With numbers, all would silently wait in one queue.
    for (const key of [7, null, {}]) {
      const publisher = createClient(
        durableLink(connection, { ...where, key: () => key as never }),
      );
      await expect(publisher.notify("note")).rejects.toThrow(
        /^"key" must return a string or undefined, not/,
      );
    }
    const publisher = createClient(durableLink(connection, where));
    for (const id of ["", " "]) {
      const headers = { "nats-msg-id": id };
      await expect(publisher.notify("note", [], { headers })).rejects.toMatchObject({
        code: "UNSUPPORTED",
      });
    }
  });

  test("with one message id are stored once", async () => {
    const subject = `once${++subjects}`;
    const handled: unknown[] = [];
    const last = deferred();
    await serve(
      {
        pay: (id: string) => {
          handled.push(id);
          if (id === "last") last.resolve();
        },
      },
      { subject },
    );
    const link = durableLink(await open(), {
      subject,
      messageId: ({ params }) => (params as string[])[0],
    });
    const publisher = createClient(link);
    for (const id of ["a", "a", "b", "a", "b", "last"]) await publisher.notify("pay", [id]);
    const other = createClient(durableLink(await open(), { subject }));
    await other.notify("pay", ["a"], { headers: { "Nats-Msg-Id": "a" } });
    await last.promise;
    expect(handled).toEqual(["a", "b", "last"]);
  });

  test("with one key are handled in order, even if one of them is tried again", async () => {
    const subject = `keyed${++subjects}`;
    const options = { subject, partitions: 4 };
    const handled = new Map<string, number[]>();
    const failed = new Set<string>();
    const all = deferred();
    let count = 0;
    const methods = {
      step: async (key: string, n: number) => {
        const once = `${key}${n}`;
        if (n % 5 === 2 && !failed.has(once)) {
          failed.add(once);
          throw new Error("again");
        }
        handled.set(key, [...(handled.get(key) ?? []), n]);
        if (++count === 60) all.resolve();
      },
    };
    await serve(methods, options);
    await serve(methods, options);
    const key = ({ params }: { params?: unknown }) => (params as string[])[0];
    const publisher = createClient(durableLink(await open(), { ...options, key }));
    for (let n = 0; n < 20; n++) {
      for (const name of ["x", "y", "z"]) await publisher.notify("step", [name, n]);
    }
    await all.promise;
    const inOrder = Array.from({ length: 20 }, (_, n) => n);
    for (const name of ["x", "y", "z"]) expect(handled.get(name)).toEqual(inOrder);
    expect(failed.size).toBe(12);
  });

  test("that are sent again because their confirmation is late are stored once", async () => {
    const subject = `late${++subjects}`;
    await (await serve({ note: () => {} }, { subject })).close();
    const proxy = await startProxy({ port: nats.port });
    onTestFinished(() => proxy.close());
    const connection = await open(proxy.port);
    const publisher = createClient(durableLink(connection, { subject, attemptMs: 10 }));
    await publisher.notify("note", ["first"]);
    proxy.freeze();
    const before = connection.stats().outMsgs;
    let isStored = false;
    const storing = publisher.notify("note", ["second"]).then(() => {
      isStored = true;
    });
    while (connection.stats().outMsgs < before + 3) await turn();
    expect(isStored).toBe(false);
    proxy.thaw();
    await storing;
    // Later notifications are stored after everything that was delayed.
    await publisher.notify("note", ["third"]);
    const manager = await jetstreamManager(await open(), patient);
    const { state } = await manager.streams.info(subject.toUpperCase());
    expect(state.messages).toBe(3);
  });

  test("that are too long fail at once, counted in bytes and with their headers", async () => {
    const subject = `long${++subjects}`;
    await (await serve({ note: () => {} }, { subject })).close();
    const connection = await open();
    const publisher = createClient(durableLink(connection, { subject }));
    const most = connection.info?.max_payload ?? 0;
    const tooLarge = { name: "WireError", code: "TOO_LARGE" };
    await expect(publisher.notify("note", ["x".repeat(most)])).rejects.toMatchObject(tooLarge);
    await expect(publisher.notify("note", ["世".repeat(most / 2)])).rejects.toMatchObject(tooLarge);
    const headers = { long: "x".repeat(200) };
    const nearly = "x".repeat(most - 200);
    await expect(publisher.notify("note", [nearly], { headers })).rejects.toMatchObject(tooLarge);
  });

  test("that no stream takes are refused at once", async () => {
    const subject = `nowhere${++subjects}`;
    const publisher = createClient(durableLink(await open(), { subject }));
    await expect(publisher.notify("note", [1])).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: `no stream takes ${subject}.any.note; serveDurable creates one when the first worker starts`,
    });
    await expect(publisher.call("note", [1])).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await publisher.close();
    await expect(publisher.notify("note", [1])).rejects.toMatchObject({ code: "CLOSED" });
    const connection = await open();
    expect(() => durableLink(connection, { subject: "a", key: () => "k" })).toThrow(TypeError);
  });

  test("that a stream refuses fail as not stored, with the reason", async () => {
    const subject = `full${++subjects}`;
    const manager = await jetstreamManager(await open(), patient);
    await manager.streams.add({
      name: subject.toUpperCase(),
      subjects: [`${subject}.>`],
      max_msgs: 1,
      discard: DiscardPolicy.New,
    });
    const publisher = createClient(durableLink(await open(), { subject }));
    await publisher.notify("note", [1]);
    await expect(publisher.notify("note", [2])).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: "NATS did not store the notification: maximum messages exceeded",
    });
  });

  test("that nats-server does not confirm may be stored", async () => {
    const connection = await open();
    // A service that takes the subject and does not answer, like a stream whose cluster is in
    // trouble.
    const subject = `silent${++subjects}`;
    connection.subscribe(`${subject}.>`, { callback: () => {} });
    await connection.flush();
    const publisher = createClient(durableLink(await open(), { subject, timeoutMs: 100 }));
    await expect(publisher.notify("note", [1])).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  });

  test("with one key wait for those before them no longer than their own time", async () => {
    const connection = await open();
    const where = { subject: `behind${++subjects}`, partitions: 1 };
    let heard = 0;
    connection.subscribe(`${where.subject}.>`, { callback: () => void heard++ });
    await connection.flush();
    const link = durableLink(await open(), { ...where, key: () => "k", timeoutMs: 100 });
    const publisher = createClient(link);
    // Both at the same moment, so that the second has timed out when the first has failed.
    const time = vi.spyOn(performance, "now").mockReturnValue(performance.now());
    const both = [1, 2].map((i) => publisher.notify("x", [i]));
    time.mockRestore();
    const [first, second] = await Promise.allSettled(both);
    expect(first).toMatchObject({ reason: { code: "CONNECTION_LOST" } });
    const message = expect.stringContaining(
      "timed out waiting for earlier notifications with the same key",
    );
    expect(second).toMatchObject({ reason: { code: "CONNECTION_FAILED", message } });
    await connection.flush();
    expect(heard).toBe(1);
  });

  test("are refused if links and workers have different numbers of partitions", async () => {
    const subject = `parts${++subjects}`;
    await serve({ note: () => {} }, { subject, partitions: 2 });
    const key = () => "k";
    const link = durableLink(await open(), { subject, partitions: 8, key });
    await expect(createClient(link).notify("note", [1])).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: expect.stringMatching(
        `no stream takes ${subject}\\.8\\.\\d\\.note; .* has the subjects ${subject}\\.any\\.>, ${subject}\\.2\\.>`,
      ),
    });
    await createClient(durableLink(await open(), { subject, partitions: 2, key })).notify("note");
    for (const partitions of [0, 8]) {
      await expect(serve({ note: () => {} }, { subject, partitions })).rejects.toThrow(
        `so it is for 2 partitions, not for ${partitions}`,
      );
    }
    const plain = `parts${++subjects}`;
    await serve({ note: () => {} }, { subject: plain });
    await expect(serve({ note: () => {} }, { subject: plain, partitions: 8 })).rejects.toThrow(
      "so it is for no partitions, not for 8",
    );
  });

  test("are taken from a stream that its owner made for any number of partitions", async () => {
    const subject = `owned${++subjects}`;
    const manager = await jetstreamManager(await open(), patient);
    await manager.streams.add({ name: subject.toUpperCase(), subjects: [`${subject}.>`] });
    const handled = deferred<string>();
    const options = { subject, partitions: 3 };
    await serve({ note: (value: string) => handled.resolve(value) }, options);
    const link = durableLink(await open(), { ...options, key: () => "k" });
    await createClient(link).notify("note", ["a"]);
    expect(await handled.promise).toBe("a");
  });

  test("with options that make no sense are not served", async () => {
    const subject = `odd${++subjects}`;
    for (const options of [
      { maxTries: -1 },
      { maxTries: 0 },
      { maxTries: 1.5 },
      { maxTries: Number.NaN },
      { partitions: -1 },
      { partitions: 1.5 },
      { partitions: 1e9 },
      { ackWaitMs: 0 },
      { delayMs: -1 },
      { maxDelayMs: Number.POSITIVE_INFINITY },
      { maxInFlight: 0 },
      { replicas: 0 },
      { duplicateWindowMs: Number.NaN },
      { duplicateWindowMs: 0 },
      { storage: "disk" as "file" },
      { drainMs: -1 },
    ]) {
      const [name = ""] = Object.keys(options);
      const serving = serve({}, { subject, ...options });
      await expect(serving, name).rejects.toThrow(expect.objectContaining({ name: "TypeError" }));
      await expect(serving).rejects.toThrow(name);
    }
    const connection = await open();
    for (const options of [
      { partitions: -1 },
      { timeoutMs: 0 },
      { attemptMs: Number.NaN },
      { attemptMs: "5" as never },
    ]) {
      expect(() => durableLink(connection, { subject, ...options })).toThrow(TypeError);
    }
    for (const subject of ["jo bs", "jobs.>", undefined as never]) {
      const sentence = `"subject" must be words of letters, digits, - and _, separated by dots, not "${subject}"`;
      expect(() => durableLink(connection, { subject })).toThrow(new TypeError(sentence));
    }
  });

  test("are tried forever if maxTries is Infinity", async () => {
    const subject = `endless${++subjects}`;
    const done = deferred();
    let tries = 0;
    const work = () => {
      if (++tries < 8) throw new Error("not yet");
      done.resolve();
    };
    await serve({ work }, { subject, maxTries: Number.POSITIVE_INFINITY });
    await createClient(durableLink(await open(), { subject })).notify("work");
    await done.promise;
  });

  test("that this user may not publish are refused at once", async () => {
    const guarded = await startNats(`jetstream: { store_dir: "$FOLDER" }
      authorization: { users: [{ user: a, password: a, permissions: { publish: ["other"] } }] }`);
    onTestFinished(() => guarded.stop());
    const connection = await connect({ port: guarded.port, user: "a", pass: "a" });
    onTestFinished(() => connection.close());
    const publisher = createClient(durableLink(connection, { subject: "guarded" }));
    await expect(publisher.notify("note")).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: "this user may not publish to guarded.any.note",
    });
  });

  test("say that JetStream is off, to links and to workers", async () => {
    const plain = await startNats();
    onTestFinished(() => plain.stop());
    const connection = await connect({ port: plain.port });
    onTestFinished(() => connection.close());
    const off = {
      code: "CONNECTION_FAILED",
      message: "JetStream is off; start nats-server with -js, or add jetstream to its config",
    };
    const publisher = createClient(durableLink(connection, { subject: "off" }));
    await expect(publisher.notify("note")).rejects.toMatchObject(off);
    const server = createServer({}, { log: silentLog });
    onTestFinished(() => server.close());
    await expect(serveDurable(server, connection, { subject: "off" })).rejects.toMatchObject(off);
  });

  test("over a connection that is closed are refused", async () => {
    const connection = await open();
    const publisher = createClient(durableLink(connection, { subject: "closed" }));
    await connection.close();
    const closed = { name: "WireError", code: "CONNECTION_FAILED" };
    await expect(publisher.notify("note")).rejects.toMatchObject(closed);
    expect(() => durableLink(connection, { subject: "closed" })).toThrow(
      expect.objectContaining(closed),
    );
    const server = createServer({}, { log: silentLog });
    onTestFinished(() => server.close());
    await expect(serveDurable(server, connection, { subject: "x" })).rejects.toMatchObject(closed);
  });

  test("with one key stay in order without being awaited, even if one is sent again", async () => {
    const where = { subject: `turn${++subjects}`, partitions: 2 };
    // The first is not stored: a subscriber receives it and does not answer, like a nats-server
    // that shuts down.
    const seen = deferred();
    const silent = await open();
    silent.subscribe(`${where.subject}.>`, { callback: () => seen.resolve() });
    await silent.flush();
    const link = durableLink(await open(), { ...where, key: () => "k", attemptMs: 1_000 });
    const publisher = createClient(link);
    const first = publisher.notify("note", [0]);
    await seen.promise;
    const handled: number[] = [];
    const all = deferred();
    const note = (i: number) => {
      handled.push(i);
      if (handled.length === 4) all.resolve();
    };
    await serve({ note }, where);
    await Promise.all([first, ...[1, 2, 3].map((i) => publisher.notify("note", [i]))]);
    await all.promise;
    expect(handled).toEqual([0, 1, 2, 3]);
  });

  test("that are too long for nats-server are refused at once", async () => {
    const connection = await open();
    const bytes = connection.info?.max_payload ?? 0;
    const publisher = createClient(durableLink(connection, { subject: `long${++subjects}` }));
    for (const text of ["x".repeat(bytes - 60), "é".repeat(bytes / 2)]) {
      await expect(publisher.notify("note", [text])).rejects.toMatchObject({ code: "TOO_LARGE" });
    }
  });

  test("wait for a worker that is full, however often it refuses them", async () => {
    const subject = `full${++subjects}`;
    const gate = deferred();
    const handled = deferred();
    const server = createServer(
      { hold: () => gate.promise, note: () => handled.resolve() },
      { log: silentLog, maxRunning: 1 },
    );
    onTestFinished(() => server.close({ drainMs: 0 }));
    const held = server.receive('{"jsonrpc":"2.0","method":"hold","id":1}');
    const tries = vi.spyOn(server.running, "hasRoomFor");
    const connection = await open();
    await serveDurable(server, connection, { subject, maxTries: 1, delayMs: 1, storage: "memory" });
    await createClient(durableLink(connection, { subject })).notify("note");
    await expect.poll(() => tries.mock.calls.length).toBeGreaterThan(3);
    gate.resolve();
    await Promise.all([held, handled.promise]);
    const manager = await jetstreamManager(connection, patient);
    expect((await manager.streams.info(`${subject.toUpperCase()}_DEAD`)).state.messages).toBe(0);
  });
});
