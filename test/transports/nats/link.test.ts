import { headers as createHeaders, type NatsConnection } from "@nats-io/transport-node";
import { createClient, createServer, ErrorCode, method, silentLog, stream } from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { isFull } from "../../full.ts";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { startProxy } from "../contract.ts";
import { turn } from "../contract-methods.ts";
import { standstill } from "../standstill.ts";
import { nobodyHears, patient, TestNats } from "./test-nats.ts";

const subject = "test";
const aliveMs = 1_000;

/** Lets time pass until something is over; in between, requests are answered. */
async function passing<T>(
  clock: FakeClock,
  over: Promise<T>,
  answered: () => Promise<void>,
): Promise<T> {
  let isOver = false;
  const tell = (): void => {
    isOver = true;
  };
  over.then(tell, tell);
  while (!isOver) {
    clock.advance(aliveMs);
    await answered();
  }
  return over;
}

/** A worker that keeps what it gets, until its connection is cut without notice. */
async function doomedWorker(testNats: TestNats, more: Record<string, () => unknown> = {}) {
  const proxy = await startProxy({ port: testNats.nats.port });
  const connection = await testNats.connect({ port: proxy.port, reconnect: false });
  connection.subscribe("doomed", { callback() {} });
  const { promise: started, resolve } = deferred();
  const hold = () => {
    resolve();
    return new Promise(() => {});
  };
  const server = createServer({ hold, ...more }, { log: silentLog });
  await serveNats(server, connection, { subject });
  /** Resolves when nats-server has noticed. */
  const die = async (witness: NatsConnection): Promise<void> => {
    proxy.close();
    await nobodyHears(witness, "doomed");
  };
  return { connection, started, die };
}

describeWith(["nats-server"], "natsLink", () => {
  test("reports at once that there is no server", async () => {
    const testNats = await TestNats.start();
    const client = createClient<{ echo(): unknown }>(
      natsLink(await testNats.connect(), { subject }),
    );
    await expect(client.call("echo")).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: "no worker listens under the subject test, so echo was not delivered",
    });
    const sentence = "no worker listens under the subject test, so a batch of 2 was not delivered";
    const [outcome] = await client.batchSettled((b) => [b.echo(), b.echo()]);
    expect(outcome).toMatchObject({ reason: { code: "CONNECTION_FAILED", message: sentence } });
  });

  test("a method that no worker has is not found", async () => {
    const testNats = await TestNats.start();
    await testNats.serve({ echo: (value: unknown) => value });
    const client = createClient(natsLink(await testNats.connect(), { subject }));
    await expect(client.call("no/such")).rejects.toMatchObject({ code: ErrorCode.MethodNotFound });
  });

  test("methods are reached whatever their names hold", async () => {
    const names = ["a b", "*", ">", "ä/ö", "a//b", "/", ".", "$any", "a\nb", "%", "x".repeat(500)];
    const testNats = await TestNats.start();
    const methods = Object.fromEntries(names.map((name) => [name, () => name]));
    await testNats.serve({ ...methods, "\ud800": () => "half" });
    const client = createClient(natsLink(await testNats.connect(), { subject }));
    for (const name of names) expect(await client.call(name)).toBe(name);
    expect(await client.call("\ud800")).toBe("half");
  });

  test("an invalid subject is refused", async () => {
    const testNats = await TestNats.start();
    const connection = await testNats.connect();
    for (const wrong of ["", "a..b", "a.>", "a.*", "a b", "$SYS", undefined as never]) {
      expect(() => natsLink(connection, { subject: wrong })).toThrow(TypeError);
    }
    for (const wrong of [0, -1, Number.NaN, "x" as never]) {
      expect(() => natsLink(connection, { subject, aliveMs: wrong })).toThrow(/^"aliveMs" must be/);
    }
  });

  test("workers share the calls, and each method is reached where it is served", async () => {
    const testNats = await TestNats.start();
    const served = { left: 0, right: 0 };
    await testNats.serve({ who: () => served.left++, left: () => "left" });
    await testNats.serve({ who: () => served.right++, right: () => "right" });
    const connection = await testNats.connect();
    const client = createClient(natsLink(connection, { subject }));
    for (let i = 0; i < 20; i++) {
      expect(await client.call("left")).toBe("left");
      expect(await client.call("right")).toBe("right");
    }
    await Promise.all(Array.from({ length: 200 }, () => client.call("who")));
    expect(served.left).toBeGreaterThan(20);
    expect(served.right).toBeGreaterThan(20);
    const apart = createClient<{ left(): string; right(): string }>(
      natsLink(connection, { subject, splitBatches: true }),
    );
    expect(await apart.batch((b) => [b.left(), b.right()])).toEqual(["left", "right"]);
  });

  test("time and trace travel as headers, and so does what the caller adds", async () => {
    const testNats = await TestNats.start();
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await testNats.serve({
      seen: method({}, (_, call) => ({
        ...call.transport,
        left: (call.deadline ?? 0) - Date.now(),
      })),
    });
    const connection = await testNats.connect();
    const texts: string[] = [];
    connection.subscribe(`${subject}.seen`, { callback: (_, m) => void texts.push(m.string()) });
    const client = createClient(natsLink(connection, { subject }), {
      use: [(next) => (request, context) => next({ ...request, traceparent }, context)],
    });
    const options = { timeoutMs: 20_000, headers: { "X-Tenant": "blue" } };
    const seen = await client.call<{ left: number }>("seen", undefined, options);
    expect(seen).toMatchObject({
      kind: "nats",
      headers: { traceparent, "timeout-ms": "20000", "x-tenant": "blue" },
    });
    expect(seen.left).toBeGreaterThan(0);
    expect(seen.left).toBeLessThanOrEqual(20_000);
    expect(texts[0]).not.toContain("timeoutMs");
    expect(texts[0]).not.toContain("traceparent");
  });

  test("what nats-server would not accept is refused before it is sent", async () => {
    const testNats = await TestNats.start("max_payload: 1000");
    const { server } = await testNats.serve({
      repeat: (text: string, count: number) => text.repeat(count),
      items: stream({}, async function* () {
        yield "small";
        yield "x".repeat(2000);
      }),
    });
    const connection = await testNats.connect();
    const client = createClient<typeof server.api>(natsLink(connection, { subject }));
    await expect(client.call("repeat", ["x".repeat(1000), 1])).rejects.toMatchObject({
      name: "WireError",
      code: "TOO_LARGE",
    });
    // Three bytes for each character, so it is too long only in bytes.
    await expect(client.call("repeat", ["世".repeat(400), 1])).rejects.toMatchObject({
      code: "TOO_LARGE",
    });
    const headers = { long: "x".repeat(990) };
    await expect(client.call("repeat", ["x", 1], { headers })).rejects.toMatchObject({
      code: "TOO_LARGE",
    });
    await expect(client.call("repeat", ["x", 2000])).rejects.toMatchObject({
      code: ErrorCode.ReplyTooLarge,
      data: "a reply over NATS must not be longer than 1000 bytes",
    });
    const outcomes = await client.batchSettled((b) => [b.repeat("x", 700), b.repeat("x", 700)]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ reason: { code: ErrorCode.ReplyTooLarge } });
    }
    const items: unknown[] = [];
    await expect(
      (async () => {
        for await (const item of client.api.items()) items.push(item);
      })(),
    ).rejects.toMatchObject({ code: ErrorCode.ReplyTooLarge });
    expect(items).toEqual(["small"]);
    expect(await client.call("repeat", ["x", 5])).toBe("xxxxx");
  });

  test("a cancel reaches the very worker that has the call", async () => {
    const testNats = await TestNats.start();
    const started = deferred<string>();
    const aborted: string[] = [];
    const heard = deferred();
    for (const name of ["one", "two", "three"]) {
      await testNats.serve({
        hold: method({}, (_, call) => {
          started.resolve(name);
          call.signal.addEventListener("abort", () => {
            aborted.push(name);
            heard.resolve();
          });
          return new Promise(() => {});
        }),
      });
    }
    const client = createClient(natsLink(await testNats.connect(), { subject }));
    const controller = new AbortController();
    const call = client.call("hold", undefined, { signal: controller.signal });
    const name = await started.promise;
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    await heard.promise;
    expect(aborted).toEqual([name]);
  });

  test("a call whose worker died among others fails, and the others continue", async () => {
    const testNats = await TestNats.start();
    const clock = new FakeClock();
    const doomed = await doomedWorker(testNats, { name: () => "doomed" });
    const own = await testNats.connect();
    const client = createClient(natsLink(own, { subject, aliveMs, clock }));
    expect(await client.call("name")).toBe("doomed");
    const call = client.call("hold");
    await doomed.started;
    await testNats.serve({ name: () => "kept", hold: () => {} });
    await doomed.die(own);
    const lost = passing(clock, call, () => own.flush());
    await expect(lost).rejects.toMatchObject({ name: "WireError", code: "CONNECTION_LOST" });
    expect(await client.call("name")).toBe("kept");
  });

  test("a link that was created before the workers also notices that one of them died", async () => {
    const testNats = await TestNats.start();
    const clock = new FakeClock();
    const own = await testNats.connect();
    const client = createClient(natsLink(own, { subject, aliveMs, clock }));
    await expect(client.call("hold")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    const doomed = await doomedWorker(testNats);
    const call = client.call("hold");
    await doomed.started;
    // Its announcement has arrived here before.
    await doomed.connection.flush();
    await own.flush();
    await doomed.die(own);
    const lost = passing(clock, call, () => own.flush());
    await expect(lost).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  });

  test("an idempotent call goes to another worker when its own died", async () => {
    const testNats = await TestNats.start();
    const clock = new FakeClock();
    const doomed = await doomedWorker(testNats);
    const own = await testNats.connect();
    const client = createClient(natsLink(own, { subject, aliveMs, clock }));
    const gap = deferred();
    let gaps = 0;
    const onGap = (): void => {
      gaps++;
      gap.resolve();
    };
    const call = client.call("hold", undefined, { idempotent: true, onGap });
    await doomed.started;
    await testNats.serve({ hold: () => "kept" });
    await doomed.die(own);
    // From then on the time stands still: the second worker may answer later than a probe expects.
    await passing(clock, gap.promise, () => own.flush());
    expect(await call).toBe("kept");
    expect(gaps).toBe(1);
  });

  test("an idempotent call waits for workers that reconnect later than its caller", async () => {
    const testNats = await TestNats.start();
    const started = deferred();
    let runs = 0;
    const work = () => {
      started.resolve();
      return ++runs === 1 ? new Promise(() => {}) : runs;
    };
    const behind = await startProxy({ port: testNats.nats.port });
    const before = await startProxy({ port: testNats.nats.port });
    const worker = await testNats.connect({ port: behind.port, reconnectTimeWait: 700 });
    const server = createServer({ work }, { log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    await serveNats(server, worker, { subject });
    const own = await testNats.connect({ port: before.port, reconnectTimeWait: 20 });
    const client = createClient(natsLink(own, { subject }));
    const call = client.call("work", undefined, { idempotent: true });
    await started.promise;
    behind.cut();
    before.cut();
    expect(await call).toBe(2);
    behind.close();
    before.close();
  });

  test("a call that its caller cancels because of the gap goes to no other worker", async () => {
    const testNats = await TestNats.start();
    const clock = new FakeClock();
    const doomed = await doomedWorker(testNats);
    const own = await testNats.connect();
    const client = createClient(natsLink(own, { subject, aliveMs, clock }));
    const controller = new AbortController();
    const options = { signal: controller.signal, onGap: () => controller.abort() };
    const call = client.call("hold", undefined, { idempotent: true, ...options });
    const failed = expect(call).rejects.toMatchObject({ code: "ABORTED" });
    await doomed.started;
    let runs = 0;
    await testNats.serve({ hold: () => ++runs });
    await doomed.die(own);
    await passing(clock, failed, () => own.flush());
    expect(await client.call("hold")).toBe(1);
  });

  test("an idempotent call waits while nats-server is down, and is sent again", async () => {
    const testNats = await TestNats.start();
    const started = deferred();
    let runs = 0;
    const work = () => {
      started.resolve();
      return ++runs < 3 ? new Promise(() => {}) : runs;
    };
    await testNats.serve({ work });
    const proxy = await startProxy({ port: testNats.nats.port });
    const connection = await testNats.connect({ port: proxy.port, reconnectTimeWait: 20 });
    const client = createClient(natsLink(connection, { subject }));
    const options = { idempotent: true };
    const calls = [1, 2].map(() => client.call("work", undefined, options));
    await started.promise;
    while (runs < 2) await turn();
    proxy.cut();
    expect(await Promise.all(calls)).toEqual([3, 4]);
    proxy.close();
  });

  test("a service made without callwire does not count as dead", async () => {
    const testNats = await TestNats.start();
    const foreign = await testNats.connect();
    const gate = deferred();
    const asked = deferred();
    foreign.subscribe(`${subject}.slow`, {
      callback: (_, message) => {
        asked.resolve();
        const { id } = message.json<{ id: number }>();
        const reply = JSON.stringify({ jsonrpc: "2.0", result: "at last", id });
        void gate.promise.then(() => message.respond(reply));
      },
    });
    await foreign.flush();
    const clock = new FakeClock();
    const client = createClient(natsLink(await testNats.connect(), { subject, aliveMs, clock }));
    const call = client.call("slow");
    await asked.promise;
    // Long enough for every possible probe.
    for (let i = 0; i < 50; i++) {
      clock.advance(aliveMs);
      await client.call("none").catch(() => {});
    }
    gate.resolve();
    expect(await call).toBe("at last");
  });

  test("NATS's own client calls a worker with one request", async () => {
    const testNats = await TestNats.start();
    await testNats.serve({
      add: (a: number, b: number) => a + b,
      later: async () => "later",
    });
    const connection = await testNats.connect();
    const request = async (method: string, params: unknown[]): Promise<unknown> => {
      const text = JSON.stringify({ jsonrpc: "2.0", method, params, id: 1 });
      return (await connection.request(`${subject}.${method}`, text, patient)).json();
    };
    expect(await request("add", [2, 3])).toEqual({ jsonrpc: "2.0", result: 5, id: 1 });
    expect(await request("later", [])).toEqual({ jsonrpc: "2.0", result: "later", id: 1 });
  });

  test("while nats-server is down calls fail at once, and then they are answered again", async () => {
    const testNats = await TestNats.start();
    const methods = { echo: (value: unknown) => value, hold: () => new Promise(() => {}) };
    const { connection: own } = await testNats.serve(methods);
    const reconnect = { reconnectTimeWait: 20, maxReconnectAttempts: -1 };
    const proxy = await startProxy({ port: testNats.nats.port });
    const connection = await testNats.connect({ port: proxy.port, ...reconnect });
    const client = createClient(natsLink(connection, { subject }));
    expect(await client.call("echo", [1])).toBe(1);
    const open = client.call("hold");
    const states = connection.status()[Symbol.asyncIterator]();
    proxy.cut();
    await expect(open).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    await expect(client.call("echo", [2])).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    for (;;) {
      const { value } = await states.next();
      if (value?.type === "reconnect") break;
    }
    expect(await client.call("echo", [3])).toBe(3);
    proxy.close();
    expect(own.isClosed()).toBe(false);
  });

  test("a tight retry loop does not starve the reconnect", async () => {
    const testNats = await TestNats.start();
    await testNats.serve({ echo: (value: unknown) => value });
    const proxy = await startProxy({ port: testNats.nats.port });
    const reconnect = { reconnectTimeWait: 20, maxReconnectAttempts: -1 };
    const connection = await testNats.connect({ port: proxy.port, ...reconnect });
    const client = createClient(natsLink(connection, { subject }));
    const states = connection.status()[Symbol.asyncIterator]();
    proxy.cut();
    while ((await states.next()).value?.type !== "disconnect");
    let failures = 0;
    let failuresOfTurn = 0;
    let answer: unknown;
    // Work that runs only between two calls would never run if a failure took no turn of the event
    // loop.
    const next = (): void => {
      failuresOfTurn = 0;
      if (answer !== "back") setImmediate(next);
    };
    next();
    while (answer !== "back") {
      answer = await client.call("echo", ["back"]).catch((error: unknown) => error);
      if (answer === "back") break;
      failures++;
      expect(++failuresOfTurn).toBeLessThan(100);
    }
    expect(failures).toBeGreaterThan(0);
    proxy.close();
  });

  test("when the network is parted calls fail soon, and when it recovers they are answered", async () => {
    const testNats = await TestNats.start();
    await testNats.serve({ echo: (value: unknown) => value });
    const proxy = await startProxy({ port: testNats.nats.port });
    const connection = await testNats.connect({ port: proxy.port });
    const clock = new FakeClock();
    const client = createClient(natsLink(connection, { subject, aliveMs, clock }));
    expect(await client.call("echo", [1])).toBe(1);
    proxy.freeze();
    const cut = passing(clock, client.call("echo", [2]), turn);
    await expect(cut).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    await expect(client.call("echo", [3])).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    const patient = client.call("echo", [4], { idempotent: true });
    await expect(patient).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    proxy.thaw();
    for (;;) {
      const answer = await client.call("echo", [5]).catch((error: unknown) => error);
      if (answer === 5) break;
      expect(answer).toMatchObject({ code: "CONNECTION_FAILED" });
      await turn();
    }
    proxy.close();
  });

  test("calls of a user that may not receive replies fail at once", async () => {
    const testNats = await TestNats.start(`
      authorization: { users: [
        { user: worker, password: w }
        { user: guest, password: g, permissions: { publish: ["test.>", "_CALLWIRE.>"], subscribe: ["_GUEST.>"] } }
      ] }`);
    const worker = await testNats.connect({ user: "worker", pass: "w" });
    const server = createServer({ add: (a: number, b: number) => a + b }, { log: silentLog });
    await serveNats(server, worker, { subject, inboxPrefixes: ["_GUEST"] });
    const guest = { user: "guest", pass: "g" };
    const deaf = createClient(natsLink(await testNats.connect(guest), { subject }));
    const message = expect.stringMatching(/^this user may not subscribe to _INBOX\./);
    for (const code of ["CONNECTION_LOST", "CONNECTION_FAILED"]) {
      await expect(deaf.call("add", [2, 3])).rejects.toMatchObject({ code, message });
    }
    const connection = await testNats.connect({ ...guest, inboxPrefix: "_GUEST" });
    expect(await createClient(natsLink(connection, { subject })).call("add", [2, 3])).toBe(5);
  });

  test("what this user may not send fails at once", async () => {
    const testNats = await TestNats.start(`
      authorization: { users: [
        { user: worker, password: w }
        { user: guest, password: g, permissions: { publish: ["test.add", "_CALLWIRE.>"], subscribe: ["_INBOX.>"] } }
      ] }`);
    const worker = await testNats.connect({ user: "worker", pass: "w" });
    const methods = { add: (a: number, b: number) => a + b, drop: () => "dropped" };
    const server = createServer(methods, { log: silentLog });
    await serveNats(server, worker, { subject });
    const guest = await testNats.connect({ user: "guest", pass: "g" });
    const client = createClient(natsLink(guest, { subject }));
    expect(await client.call("add", [2, 3])).toBe(5);
    await expect(client.call("drop")).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: "this user may not publish to test.drop",
    });
    // A subject that a user may use must not lead to other methods.
    for (const payload of [
      { jsonrpc: "2.0", method: "drop", id: 1 },
      [{ jsonrpc: "2.0", method: "drop", id: 1 }],
    ]) {
      const reply = await guest.request(`${subject}.add`, JSON.stringify(payload), patient);
      expect(reply.json()).toMatchObject({ error: { code: ErrorCode.InvalidRequest } });
    }
    await server.close();
  });

  test("a worker reaches a caller after its call, and notices when it is gone", async () => {
    const testNats = await TestNats.start();
    const gone = deferred();
    const told = deferred<unknown>();
    let push = (): unknown => undefined;
    const clock = new FakeClock();
    const { connection: worker } = await testNats.serve(
      {
        join: method({}, (_, call) => {
          push = () => call.peer.notify("news", ["late"]);
          void call.peer.closed.then(() => gone.resolve());
          return "joined";
        }),
      },
      { aliveMs, clock },
    );
    const service = createServer({ news: (value: unknown) => told.resolve(value) });
    const own = await testNats.connect();
    const client = createClient(natsLink(own, { subject, service }));
    expect(await client.call("join")).toBe("joined");
    push();
    expect(await told.promise).toBe("late");
    await client.close();
    await passing(clock, gone.promise, async () => {
      for (let i = 0; i < 3; i++) await Promise.all([worker.flush(), own.flush()]);
    });
  });

  test("the calls of an open link fail when the connection closes", async () => {
    const testNats = await TestNats.start();
    await testNats.serve({ hold: () => new Promise(() => {}) });
    const connection = await testNats.connect();
    const client = createClient(natsLink(connection, { subject }));
    const call = expect(client.call("hold")).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    await connection.close();
    await call;
    await expect(client.call("hold")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
  });

  test("streams from several workers are read at the reader's pace", async () => {
    const testNats = await TestNats.start();
    const made = new Map<string, number>();
    const connections = [await testNats.connect()];
    for (const name of ["a", "b"]) {
      const { connection } = await testNats.serve({
        numbers: stream({ params: z.object({ key: z.string() }) }, async function* ({ key }) {
          for (let i = 0; ; i++) {
            made.set(key, i);
            yield { i, by: name };
          }
        }),
      });
      connections.push(connection);
    }
    const client = createClient(natsLink(connections[0] as NatsConnection, { subject }));
    // nats-server has no time limit here: it may be busy for longer than any pause.
    const handedOn = () => Promise.all(connections.map((each) => each.flush()));
    const by = new Set<string>();
    // nats-server chooses at random.
    for (let run = 0; run < (isFull ? 20 : 3) || by.size < 2; run++) {
      const key = `${run}`;
      const count = (): number => made.get(key) ?? 0;
      let next = 0;
      let halted = 0;
      for await (const item of client.stream<{ i: number; by: string }>("numbers", { key })) {
        expect(item.i).toBe(next++);
        by.add(item.by);
        // Until the first credit arrives the worker is free; the reader does not read, so it stops
        // then.
        if (next === 1) halted = await standstill(count, handedOn);
        if (next === 300) break;
      }
      expect(count()).toBeLessThanOrEqual(halted + 300 + 64);
    }
    expect([...by].sort()).toEqual(["a", "b"]);
  });

  test("a message with a status header is not treated as a reply", async () => {
    const testNats = await TestNats.start();
    const foreign = await testNats.connect();
    foreign.subscribe(`${subject}.odd`, {
      callback: (_, message) => void message.respond("", { headers: createHeaders(408, "Odd") }),
    });
    await foreign.flush();
    const client = createClient(natsLink(await testNats.connect(), { subject }));
    await expect(client.call("odd")).rejects.toMatchObject({ code: "BAD_REPLY" });
  });
});
