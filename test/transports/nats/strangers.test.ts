/** NATS users with only the permissions that a caller needs, and what they could do to others. */
import { headers as createHeaders, type NatsConnection } from "@nats-io/transport-node";
import {
  createClient,
  createServer,
  ErrorCode,
  type Methods,
  method,
  type ServerOptions,
  stream,
} from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { isFull } from "../../full.ts";
import { heapUsed } from "../../heap.ts";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { patient, TestNats } from "./test-nats.ts";

const subject = "test";
const login = (user: string) => ({ user, pass: user });
const users = `authorization: { users: [
  { user: friend, password: friend }
  { user: stranger, password: stranger, permissions: {
    publish: ["test.add", "_CALLWIRE.test.>"], subscribe: ["_STRANGER.>"] } }
] }`;

interface Message {
  readonly id?: unknown;
  readonly error?: unknown;
  readonly upload?: boolean;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
}

/** A worker, a trusted caller, and a user that may call a single method. */
async function scene(methods: Methods, service: Methods = {}, options: ServerOptions = {}) {
  const testNats = await TestNats.start(users);
  const clock = new FakeClock();
  const passTime = (): void => clock.advance(5_000);
  const served = { add: (a: number, b: number) => a + b, ...methods };
  const connection = await testNats.connect(login("friend"));
  const server = createServer(served, options);
  onTestFinished(() => server.close({ drainMs: 0 }));
  const worker = await serveNats(server, connection, {
    subject,
    clock,
    inboxPrefixes: ["_STRANGER"],
  });
  const friend = await testNats.connect(login("friend"));
  const client = createClient(natsLink(friend, { subject, service: createServer(service) }));
  const stranger = await testNats.connect({ ...login("stranger"), inboxPrefix: "_STRANGER" });
  const mailbox = `_CALLWIRE.${subject}.${worker.id}.cw`;
  const textOf = (message: Message): string => JSON.stringify({ jsonrpc: "2.0", ...message });
  /** To every kind of subject that could be guessed. */
  const guess = async (kind: string, message: Message): Promise<void> => {
    for (let i = 1; i < 100; i++) {
      stranger.publish(`${mailbox}.${kind}${i.toString(36)}`, textOf(message));
    }
    await settled(stranger, connection, friend);
  };
  const ask = async (to: string, message: Message): Promise<unknown> =>
    (await stranger.request(to, textOf(message), patient)).json();
  return { client, connection, stranger, mailbox, guess, ask, textOf, passTime, friend };
}

/** Long enough that everything that was sent has arrived, and has been answered. */
async function settled(...connections: NatsConnection[]): Promise<void> {
  for (let i = 0; i < 3; i++) for (const each of connections) await each.flush();
}

describeWith(["nats-server"], "an unknown caller on NATS", () => {
  test("reaches only the methods that it may send to, by no other subject either", async () => {
    let runs = 0;
    const { mailbox, ask, guess } = await scene({ wipe: () => ++runs });
    expect(await ask(`${subject}.add`, { method: "add", params: [2, 3], id: 1 })).toMatchObject({
      result: 5,
    });
    const refused = { id: 1, error: { code: ErrorCode.InvalidRequest } };
    for (const place of ["0", "o1", "c1", "p1", "else"]) {
      const call = { method: "wipe", id: 1 };
      if (/^[cp]/.test(place)) await guess(place[0] as string, call);
      else expect(await ask(`${mailbox}.${place}`, call)).toMatchObject(refused);
      await guess(place, { method: "wipe" });
    }
    expect(runs).toBe(0);
  });

  test("does not stop the stream of another", async () => {
    const { client, guess } = await scene({
      count: stream({}, async function* () {
        for (let i = 0; i < 200; i++) yield i;
      }),
    });
    const items: unknown[] = [];
    for await (const item of client.stream("count")) {
      items.push(item);
      if (items.length > 1) continue;
      for (let id = 1; id < 20; id++)
        await guess("c", { method: "$/cancelRequest", params: { id } });
    }
    expect(items).toHaveLength(200);
  });

  test("does not cancel the calls of another", async () => {
    const gate = deferred();
    const begun = deferred();
    const { client, guess, passTime, connection, friend } = await scene({
      wait: async () => {
        begun.resolve();
        await gate.promise;
        return "done";
      },
    });
    const call = client.call("wait");
    await begun.promise;
    // The second round probes its caller.
    for (let round = 0; round < 2; round++) {
      passTime();
      await settled(connection, friend);
    }
    const held = Array.from({ length: 30 }, (_, i) => `o${i.toString(36)}`);
    await guess("p", { method: "$/unwanted", params: { held } });
    gate.resolve();
    expect(await call).toBe("done");
  });

  test("does not answer for another caller that a worker calls back", async () => {
    const gate = deferred();
    const asked = deferred<unknown>();
    const { client, guess } = await scene(
      { pay: method({}, (_, call) => call.peer.call("sure")) },
      {
        sure: method({}, async (_, call) => {
          asked.resolve(call.id);
          await gate.promise;
          return "no";
        }),
      },
    );
    const call = client.call("pay");
    await guess("o", { id: await asked.promise, result: "yes" });
    gate.resolve();
    expect(await call).toBe("no");
  });

  test("does not make a worker talk to itself", async () => {
    const gate = deferred();
    const { connection, friend, stranger, textOf } = await scene({
      add: stream({}, async function* () {
        yield 1;
        await gate.promise;
      }),
    });
    onTestFinished(() => gate.resolve());
    const address = new Promise<string>((resolve) => {
      const callback = (_: unknown, { reply = "" }: { reply?: string }): void => resolve(reply);
      stranger.subscribe("_STRANGER.calls.1", { callback });
    });
    const call = textOf({ method: "add", id: 1 });
    stranger.publish(`${subject}.add`, call, { reply: "_STRANGER.calls.1" });
    const itself = await address;
    let heard = 0;
    friend.subscribe(itself, { callback: () => void heard++ });
    await friend.flush();
    const held = textOf({ method: "$/held" });
    stranger.publish(itself, held, { reply: itself });
    stranger.publish(`_CALLWIRE.${subject}.workers`, held, { reply: itself });
    await settled(stranger, connection, friend);
    expect(heard).toBe(1);
  });

  test("does not make nats-server disconnect a worker", async () => {
    const gate = deferred();
    onTestFinished(() => gate.resolve());
    const { connection, stranger, textOf } = await scene({
      add: stream({}, async function* () {
        yield 1;
        await gate.promise;
      }),
    });
    const told: string[] = [];
    const follow = async (): Promise<void> => {
      for await (const { type } of connection.status()) told.push(type);
    };
    void follow();
    // With this line the message just fits; with the address of a worker it would not.
    const reply = `_STRANGER.${"x".repeat(4_050)}`;
    stranger.publish(`${subject}.add`, textOf({ method: "add", id: 1 }), { reply });
    await settled(stranger, connection);
    expect(told).toEqual([]);
    expect(stranger.isClosed()).toBe(false);
  });

  test("does not stop a worker with invalid names of calls", async () => {
    const gate = deferred();
    onTestFinished(() => gate.resolve());
    const { stranger, connection, mailbox, ask, textOf, passTime } = await scene({
      add: async (wait: boolean) => {
        if (wait) await gate.promise;
        return "here";
      },
    });
    const held = [{ toString: 1, valueOf: 1 }];
    stranger.publish(`${mailbox}.0`, textOf({ method: "$/ping", params: { held } }));
    // A caller that is asked which of its calls it still wants answers the same.
    const asked = deferred();
    stranger.subscribe("_STRANGER.box.cw.0", {
      callback: (_, message) => {
        message.respond(textOf({ method: "$/unwanted", params: { held } }));
        asked.resolve();
      },
    });
    const call = textOf({ method: "add", params: [true], id: 1 });
    stranger.publish(`${subject}.add`, call, { reply: "_STRANGER.box.cw.o1" });
    for (let round = 0; round < 2; round++) {
      await settled(stranger, connection);
      passTime();
    }
    await asked.promise;
    expect(await ask(`${subject}.add`, { method: "add", params: [false], id: 2 })).toMatchObject({
      result: "here",
    });
  });

  test("does not stop a worker with messages that nest deeper than the stack", async () => {
    const { stranger, connection, mailbox, ask, textOf } = await scene({
      add: method({ upload: z.any() }, async (_, call) => {
        for await (const item of call.upload) return typeof item;
        return "nothing";
      }),
    });
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    stranger.publish(`${mailbox}.0`, `{"jsonrpc":"2.0","method":"add","id":${deep}}`, {
      reply: "_STRANGER.nobody",
    });
    const replies: Message[] = [];
    const reply = "_STRANGER.box.cw.o1";
    stranger.subscribe(reply, { callback: (_, message) => void replies.push(message.json()) });
    stranger.publish(`${subject}.add`, textOf({ method: "add", id: 1, upload: true }), { reply });
    const item = `{"jsonrpc":"2.0","method":"$/upload","params":{"id":1,"seq":1,"value":${deep}}}`;
    stranger.publish(`_CALLWIRE.${subject}.workers`, item, { reply });
    await settled(stranger, connection);
    expect(replies).toContainEqual(
      expect.objectContaining({ error: expect.objectContaining({ code: -32600 }) }),
    );
    expect(await ask(`${subject}.add`, { method: "add", id: 2 })).toMatchObject({
      error: { code: ErrorCode.InvalidParams },
    });
    expect(connection.isClosed()).toBe(false);
  });

  test("cannot upload items longer than a message", async () => {
    const { stranger, connection, textOf } = await scene(
      {
        add: method({ upload: z.string() }, async (_, call) => {
          let length = 0;
          for await (const item of call.upload) length += item.length;
          return length;
        }),
      },
      {},
      { limits: { maxMessageBytes: 1_000 } },
    );
    const reply = "_STRANGER.box.cw.o1";
    const replies: Message[] = [];
    stranger.subscribe(reply, { callback: (_, message) => void replies.push(message.json()) });
    stranger.publish(`${subject}.add`, textOf({ method: "add", id: 1, upload: true }), { reply });
    for (const item of [{ value: "x".repeat(2_000) }, { done: true }]) {
      const params = { id: 1, seq: "done" in item ? 2 : 1, ...item };
      const text = textOf({ method: "$/upload", params });
      stranger.publish(`_CALLWIRE.${subject}.workers`, text, { reply });
    }
    await settled(stranger, connection);
    expect(replies.filter(({ id }) => id === 1)).toMatchObject([
      { error: { data: "items of the upload were lost on their way" } },
    ]);
  });

  test("cannot fill a worker with headers", async () => {
    const { stranger, textOf } = await scene({});
    const headers = createHeaders();
    for (let i = 0; i < 2_000; i++) headers.append(`h${i}`, "value");
    const call = textOf({ method: "add", params: [1, 2], id: 1 });
    const reply = await stranger.request(`${subject}.add`, call, { ...patient, headers });
    expect(reply.json()).toMatchObject({ id: 1, error: { code: ErrorCode.InvalidRequest } });
  });

  test("cannot keep out other users with inboxes that answer", async () => {
    const testNats = await TestNats.start();
    const held = deferred();
    onTestFinished(() => held.resolve());
    const clock = new FakeClock();
    const { connection } = await testNats.serve(
      { hold: () => held.promise, echo: (value: unknown) => value },
      { clock, server: { maxRunning: 300 } },
    );
    const stranger = await testNats.connect({ inboxPrefix: "_INBOX.ann" });
    stranger.subscribe("_INBOX.ann.*.cw.0", {
      callback: (_, message) => {
        message.respond('{"jsonrpc":"2.0","method":"$/unwanted","params":{"held":[]}}');
      },
    });
    const fill = (calls: number): void => {
      for (let i = 0; i < 150 * calls; i++) {
        const reply = `_INBOX.ann.made-up-${i % 150}.cw.o${Math.floor(i / 150)}`;
        stranger.publish(`${subject}.hold`, '{"jsonrpc":"2.0","method":"hold","id":1}', { reply });
      }
    };
    fill(1);
    // In the second round the worker probes them.
    for (let round = 0; round < 2; round++) {
      await settled(stranger, connection);
      clock.advance(5_000);
    }
    await settled(connection, stranger, connection);
    fill(4);
    await settled(stranger, connection);
    const own = await testNats.connect({ inboxPrefix: "_INBOX.bob" });
    const client = createClient(natsLink(own, { subject }));
    // The first calls of ann still use the share of unknown callers.
    await expect(client.call("echo", ["hi"])).rejects.toMatchObject({ code: ErrorCode.ServerBusy });
    await settled(connection, own, connection);
    expect(await client.call("echo", ["hi"])).toBe("hi");
  });

  test("cannot keep out callers that exist by making up inboxes", async () => {
    const testNats = await TestNats.start();
    const held = deferred();
    onTestFinished(() => held.resolve());
    const { connection } = await testNats.serve(
      { hold: () => held.promise, echo: (value: unknown) => value },
      { clock: new FakeClock(), server: { maxRunning: 300 } },
    );
    const stranger = await testNats.connect();
    for (let i = 0; i < 400; i++) {
      const reply = `_INBOX.made-up-${i}.cw.o1`;
      stranger.publish(`${subject}.hold`, '{"jsonrpc":"2.0","method":"hold","id":1}', { reply });
    }
    await settled(stranger, connection);
    const own = await testNats.connect();
    const client = createClient(natsLink(own, { subject }));
    // The worker refuses it once, and probes whether it exists.
    await expect(client.call("echo", ["hi"])).rejects.toMatchObject({ code: ErrorCode.ServerBusy });
    await settled(connection, own, connection);
    expect(await client.call("echo", ["hi"])).toBe("hi");
  });

  test("a callee of one link cannot guess the inbox of another", async () => {
    const testNats = await TestNats.start();
    const connection = await testNats.connect();
    const inboxes: string[] = [];
    const callback = (_: unknown, { reply = "" }: { reply?: string }): void => {
      inboxes.push(reply);
      connection.publish(reply, '{"jsonrpc":"2.0","result":null,"id":null}');
    };
    connection.subscribe(`${subject}.echo`, { callback });
    for (let i = 0; i < 2; i++) {
      await createClient(natsLink(connection, { subject }))
        .call("echo")
        .catch(() => {});
    }
    const beginnings = inboxes.map((inbox) => inbox.slice(0, "_INBOX.".length + 8));
    expect(beginnings).toEqual([expect.stringMatching(/^_INBOX\./), expect.anything()]);
    expect(new Set(beginnings).size).toBe(2);
  });

  const long = "x".repeat(1_000_000);

  // The number of bytes in memory would be a measurement.
  if (isFull) {
    test.each([
      ["long names", (i: number) => ({ method: `${i}${long}` })],
      // A substring can keep the whole string in memory.
      [
        "names in long messages",
        (i: number) => ({ method: `a name of its own ${i}`, params: [long] }),
      ],
    ])("does not fill the memory of a worker with %s", async (_, said) => {
      const { connection, stranger, textOf } = await scene({});
      const before = heapUsed();
      for (let i = 0; i < 100; i++) {
        stranger.publish(`${subject}.add`, textOf({ id: 1, ...said(i) }));
        await settled(stranger, connection);
      }
      expect(heapUsed() - before).toBeLessThan(50_000_000);
    });
  }
});
