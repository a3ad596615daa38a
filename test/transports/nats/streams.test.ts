/** NATS promises nothing about its messages: streams must not lack items, nor outrun their readers. */
import type { NatsConnection } from "@nats-io/transport-node";
import { createClient, createServer, ErrorCode, silentLog, stream } from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { startProxy } from "../contract.ts";
import { turn } from "../contract-methods.ts";
import { standstill } from "../standstill.ts";
import { patient, TestNats } from "./test-nats.ts";

const subject = "test";
const aliveMs = 1_000;
const window = 64;

async function next(connection: NatsConnection, type: "disconnect" | "reconnect"): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === type) return;
  }
}

/** A worker whose connection can be frozen, and which returns when the proxy thaws. */
async function serveBehindProxy(testNats: TestNats, items: () => AsyncIterable<number>) {
  const proxy = await startProxy({ port: testNats.nats.port });
  onTestFinished(() => proxy.close());
  const connection = await testNats.connect({ port: proxy.port, reconnectTimeWait: 20 });
  const methods = { items: stream({}, items), ping: () => "pong" };
  const server = createServer(methods, { log: silentLog });
  await serveNats(server, connection, { subject });
  onTestFinished(() => server.close({ drainMs: 0 }));
  const part = async (): Promise<void> => {
    const gone = next(connection, "disconnect");
    proxy.freeze();
    proxy.cut();
    await gone;
  };
  const join = async (): Promise<void> => {
    const back = next(connection, "reconnect");
    proxy.thaw();
    await back;
    await connection.flush();
  };
  return { methods, freeze: proxy.freeze, part, join };
}

describeWith(["nats-server"], "streams over NATS", () => {
  test("fail if their worker sends far more than there is credit for", async () => {
    const testNats = await TestNats.start();
    const other = await testNats.connect();
    const value = "x".repeat(900);
    other.subscribe("foreign.items", {
      callback: (_, message) => {
        const params = { id: message.json<{ id: number }>().id, value };
        const item = JSON.stringify({ jsonrpc: "2.0", method: "$/stream", params });
        for (let i = 0; i < 3 * window; i++) message.respond(item);
      },
    });
    await other.flush();
    const service = createServer({}, { limits: { maxMessageBytes: 1_000 } });
    const link = natsLink(await testNats.connect(), { subject: "foreign", service });
    const items = createClient(link).stream("items")[Symbol.asyncIterator]();
    await items.next();
    await other.flush();
    await other.flush();
    const rest = async (): Promise<void> => {
      while (!(await items.next()).done);
    };
    await expect(rest()).rejects.toMatchObject({ code: "TOO_LARGE" });
  });

  test.each([
    ["in their middle", 12],
    ["at their end", 11],
  ])("fail where items were lost on their way, %s", async (_, count) => {
    const testNats = await TestNats.start();
    const read = deferred();
    const served = await serveBehindProxy(testNats, async function* () {
      for (let i = 0; i < count; i++) {
        if (i === 10) {
          await read.promise;
          await served.part();
        }
        if (i === 11) await served.join();
        yield i;
      }
      if (count === 11) await served.join();
    });
    const connection = await testNats.connect();
    const client = createClient<typeof served.methods>(natsLink(connection, { subject }));
    const got: number[] = [];
    const reading = (async () => {
      for await (const item of client.stream("items")) {
        got.push(item);
        // The first credit has been sent, and must find the worker.
        if (got.length === 10) void connection.flush().then(read.resolve);
      }
    })();
    await expect(reading).rejects.toMatchObject({
      code: "CONNECTION_LOST",
      message: "items of the stream were lost on their way",
    });
    expect(got).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("fail if all items were lost for which the reader had given credit", async () => {
    const testNats = await TestNats.start();
    let made = 0;
    const read = deferred();
    const parted = deferred();
    const served = await serveBehindProxy(testNats, async function* () {
      yield made++;
      await read.promise;
      await served.part();
      parted.resolve();
      while (made < 3 * window) yield made++;
    });
    // The worker is not probed while it is away.
    const clock = new FakeClock();
    const connection = await testNats.connect();
    const link = natsLink(connection, { subject, aliveMs, clock });
    const client = createClient<typeof served.methods>(link);
    const items = client.stream("items")[Symbol.asyncIterator]();
    expect((await items.next()).value).toBe(0);
    let isOver = false;
    const next = items.next();
    next.catch(() => {
      isOver = true;
    });
    // The first credit has been sent, and must find the worker.
    await connection.flush();
    read.resolve();
    await parted.promise;
    await standstill(() => made);
    await served.join();
    while (!isOver) {
      clock.advance(aliveMs);
      await client.call("ping");
    }
    await expect(next).rejects.toMatchObject({
      code: "CONNECTION_LOST",
      message: "items of the stream were lost on their way",
    });
  });

  test("end if their worker was away when they were cancelled", async () => {
    const testNats = await TestNats.start();
    const ended = deferred();
    const served = await serveBehindProxy(testNats, async function* () {
      try {
        for (let i = 0; ; i++) yield i;
      } finally {
        ended.resolve();
      }
    });
    const connection = await testNats.connect();
    const client = createClient<typeof served.methods>(natsLink(connection, { subject }));
    const items = client.stream("items")[Symbol.asyncIterator]();
    await items.next();
    await standstill(() => connection.stats().inMsgs);
    await served.part();
    await items.return?.();
    await connection.flush();
    await served.join();
    await ended.promise;
  });

  test("end when a caller that cannot be probed has left, such as a request of NATS's own client", async () => {
    const testNats = await TestNats.start();
    const ended = deferred();
    await testNats.serve({
      items: stream({}, async function* () {
        try {
          for (let i = 0; ; i++) yield i;
        } finally {
          ended.resolve();
        }
      }),
    });
    const connection = await testNats.connect();
    const request = JSON.stringify({ jsonrpc: "2.0", method: "items", id: 1 });
    const first = await connection.request(`${subject}.items`, request, {
      ...patient,
      noMux: true,
    });
    expect(first.json()).toMatchObject({ method: "$/stream", params: { value: 0 } });
    await ended.promise;
  });

  test("start again if items were lost and they are idempotent", async () => {
    const testNats = await TestNats.start();
    const read = deferred();
    let runs = 0;
    const served = await serveBehindProxy(testNats, async function* () {
      const isFirst = ++runs === 1;
      for (let i = 0; i < 4; i++) {
        if (isFirst && i === 2) {
          await read.promise;
          await served.part();
        }
        if (isFirst && i === 3) await served.join();
        yield i;
      }
    });
    const connection = await testNats.connect();
    const client = createClient<typeof served.methods>(natsLink(connection, { subject }));
    const got: (number | string)[] = [];
    const onGap = () => void got.push("gap");
    for await (const item of client.stream("items", undefined, { idempotent: true, onGap })) {
      got.push(item);
      if (item === 1) void connection.flush().then(read.resolve);
    }
    expect(got).toEqual([0, 1, "gap", 0, 1, 2, 3]);
  });

  test.each([false, true])(
    "end at the worker when their caller loses its connection, idempotent: %s",
    async (idempotent) => {
      const testNats = await TestNats.start();
      const ended = deferred();
      let runs = 0;
      const items = stream({}, async function* () {
        const isFirst = ++runs === 1;
        try {
          for (let i = 0; isFirst || i < 3; i++) yield i;
        } finally {
          if (isFirst) ended.resolve();
        }
      });
      await testNats.serve({ items });
      const proxy = await startProxy({ port: testNats.nats.port });
      onTestFinished(() => proxy.close());
      const connection = await testNats.connect({ port: proxy.port, reconnectTimeWait: 20 });
      const client = createClient<{ items: typeof items }>(natsLink(connection, { subject }));
      const reading = client.stream("items", undefined, { idempotent })[Symbol.asyncIterator]();
      await reading.next();
      await standstill(() => connection.stats().inMsgs);
      proxy.cut();
      // The caller exists, so the worker would continue for as long as it does.
      await ended.promise;
      await reading.return?.();
    },
  );

  test("continue if credit was lost on its way", async () => {
    const testNats = await TestNats.start();
    let made = 0;
    const served = await serveBehindProxy(testNats, async function* () {
      while (made < 3 * window) yield made++;
    });
    const clock = new FakeClock();
    const connection = await testNats.connect();
    const link = natsLink(connection, { subject, aliveMs, clock });
    const client = createClient<typeof served.methods>(link);
    const items = client.stream("items")[Symbol.asyncIterator]();
    expect((await items.next()).value).toBe(0);
    await standstill(() => made);
    await connection.flush();
    served.freeze();
    // After these, credit is sent, and nats-server forwards it to a worker that it does not know to
    // be gone.
    for (let i = 1; i < window; i++) expect((await items.next()).value).toBe(i);
    await connection.flush();
    await served.part();
    await served.join();
    let isOver = false;
    const rest = (async () => {
      for (let i = window; i < 3 * window; i++) expect((await items.next()).value).toBe(i);
      isOver = true;
      return items.next();
    })();
    rest.catch(() => {
      isOver = true;
    });
    while (!isOver) {
      clock.advance(aliveMs);
      await client.call("ping");
    }
    expect(await rest).toEqual({ done: true, value: undefined });
  });

  test("are called with credit, so that a worker makes no more items before its reader responds", async () => {
    const testNats = await TestNats.start();
    const made: number[] = [];
    const items = stream({}, async function* () {
      const run = made.push(0) - 1;
      for (let i = 1; ; i++) {
        made[run] = i;
        yield i;
      }
    });
    await testNats.serve({ items });
    const connection = await testNats.connect();
    const seen: unknown[] = [];
    connection.subscribe(`${subject}.items`, {
      callback: (_, message) => void seen.push(message.json()),
    });
    const client = createClient<{ items: typeof items }>(natsLink(connection, { subject }));
    const reading = client.stream("items")[Symbol.asyncIterator]();
    await reading.next();
    expect(seen).toMatchObject([{ credit: window }]);
    await reading.return?.();
    // Like a link that sends a request and then falls silent.
    const request = { jsonrpc: "2.0", method: "items", id: 1, credit: window };
    connection.publish(`${subject}.items`, JSON.stringify(request), { reply: "_INBOX.one.cw.o1" });
    while (made.length < 2) await turn();
    expect(await standstill(() => made[1])).toBe(window + 1);
  });

  test("fail with the name of the missing permission", async () => {
    const testNats = await TestNats.start(`authorization { users = [
      { user: worker, password: w }
      { user: guest, password: g, permissions: { publish: { deny: "_CALLWIRE.test.*.>" } } }
    ] }`);
    const items = stream({}, async function* () {
      for (;;) yield 1;
    });
    const server = createServer({ items }, { log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    await serveNats(server, await testNats.connect({ user: "worker", pass: "w" }), { subject });
    const guest = await testNats.connect({ user: "guest", pass: "g" });
    const client = createClient<{ items: typeof items }>(natsLink(guest, { subject }));
    const reading = (async () => {
      for await (const _ of client.stream("items"));
    })();
    await expect(reading).rejects.toMatchObject({
      code: "CONNECTION_LOST",
      message: expect.stringMatching(/^this user may not publish to _CALLWIRE\.test\./),
    });
  });

  test("end with an error if their result leaves no room for the header", async () => {
    const max = 4_096;
    const testNats = await TestNats.start(`max_payload: ${max}`);
    let length = 0;
    await testNats.serve({
      items: stream({}, async function* () {
        yield 1;
        return "x".repeat(length);
      }),
    });
    const client = createClient(natsLink(await testNats.connect(), { subject, aliveMs: 1e6 }));
    for (length = max - 100; length < max; length += 5) {
      const read = async (): Promise<void> => {
        for await (const item of client.stream("items")) expect(item).toBe(1);
      };
      const outcome = await read().catch((error: { code: unknown }) => error.code);
      expect([undefined, ErrorCode.ReplyTooLarge]).toContain(outcome);
    }
  });
});
