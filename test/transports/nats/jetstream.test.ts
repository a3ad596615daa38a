import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import {
  createClient,
  createServer,
  ErrorCode,
  type Methods,
  method,
  RpcError,
  silentLog,
} from "callwire";
import { durableLink, type ServeDurableOptions, serveDurable } from "callwire/nats/jetstream";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { startProxy } from "../contract.ts";
import { turn } from "../contract-methods.ts";
import { type NatsServer, startNats } from "./nats-server.ts";

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
    options: Partial<ServeDurableOptions> & { readonly subject: string },
  ): Promise<{ connection: NatsConnection; close(): Promise<void> }> {
    const connection = await open();
    const server = createServer(methods, { log: silentLog });
    const quick = { delayMs: 1, storage: "memory", ...options } as const;
    await serveDurable(server, connection, quick);
    onTestFinished(() => server.close());
    return { connection, close: () => server.close() };
  }

  test("are kept until a worker comes, and handled once each", async () => {
    const subject = `kept${++subjects}`;
    // The first worker makes the stream and leaves.
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
    const manager = await jetstreamManager(connection);
    // Acknowledged, it leaves the stream.
    while ((await manager.streams.info(subject.toUpperCase())).state.messages > 0);
  });

  test("go to the dead letters after so many tries, with the reason", async () => {
    const subject = `dead${++subjects}`;
    let tries = 0;
    const { connection } = await serve(
      {
        refuse: method({}, () => {
          tries++;
          throw new RpcError(1001, "Never\nat all");
        }),
        check: method({ params: z.object({ x: z.number() }) }, () => {}),
      },
      { subject, maxTries: 3 },
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
    // Another try would not help where the params are wrong.
    await publisher.notify("check", { x: "no number" });
    expect((await hopeless.promise).headers).toMatchObject({
      "error-code": [`${ErrorCode.InvalidParams}`],
      tries: ["1"],
    });
  });

  test("go to the dead letters without the reason where they have no room for it", async () => {
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

  test("with one key are handled in order, even when one of them has to be tried again", async () => {
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
    // What follows is stored behind everything that was held up.
    await publisher.notify("note", ["third"]);
    const manager = await jetstreamManager(await open());
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

  test("that were not stored are said not to be", async () => {
    const publisher = createClient(
      durableLink(await open(), { subject: `nowhere${++subjects}`, timeoutMs: 100 }),
    );
    await expect(publisher.notify("note", [1])).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    await expect(publisher.call("note", [1])).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await publisher.close();
    await expect(publisher.notify("note", [1])).rejects.toMatchObject({ code: "CLOSED" });
    const connection = await open();
    expect(() => durableLink(connection, { subject: "a", key: () => "k" })).toThrow(TypeError);
  });
});
