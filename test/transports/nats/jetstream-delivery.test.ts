import { jetstream } from "@nats-io/jetstream";
import {
  createClient,
  createServer,
  ErrorCode,
  type Methods,
  method,
  RpcError,
  type ServerOptions,
  silentLog,
} from "callwire";
import { durableLink, type ServeDurableOptions, serveDurable } from "callwire/nats/jetstream";
import { authenticate, bearer, rateLimit } from "callwire/security";
import { expect, onTestFinished, test, vi } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { patient, TestNats } from "./test-nats.ts";

describeWith(["nats-server"], "durable notifications at a worker", () => {
  async function setUp() {
    const testNats = await TestNats.start('jetstream: { store_dir: "$FOLDER" }');
    const where = { subject: "jobs" };
    const serve = async (
      methods: Methods,
      own: ServerOptions = {},
      options: Partial<ServeDurableOptions> = {},
    ) => {
      const server = createServer(methods, { log: silentLog, ...own });
      onTestFinished(() => server.close({ drainMs: 0 }));
      const quick = { ...where, storage: "memory", delayMs: 1, ...options } as const;
      return { server, worker: await serveDurable(server, await testNats.connect(), quick) };
    };
    const publisher = async () => createClient(durableLink(await testNats.connect(), where));
    const watcher = await testNats.connect();
    const dead: string[] = [];
    watcher.subscribe("jobs-dead.>", { callback: (_, { subject }) => void dead.push(subject) });
    await watcher.flush();
    return { testNats, serve, publisher, dead };
  }

  test("that a rate limit turns away wait for it, and count as not tried", async () => {
    const { serve, publisher, dead } = await setUp();
    const all = deferred();
    let runs = 0;
    const note = method({}, () => {
      if (++runs === 8) all.resolve();
    });
    const known = authenticate(bearer(() => ({ id: "ann" })));
    const limit = rateLimit({ by: "principal", capacity: 1, perSecond: 20 });
    await serve({ note }, { use: [known, limit] }, { maxTries: 2 });
    const client = await publisher();
    const headers = { authorization: "Bearer a" };
    for (let i = 0; i < 8; i++) await client.notify("note", {}, { headers });
    await all.promise;
    expect(dead).toEqual([]);
  });

  test("are requested so that nats-server does not disconnect the worker for what it has not read", async () => {
    const { testNats, serve } = await setUp();
    const watcher = await testNats.connect();
    const asked: number[] = [];
    watcher.subscribe("$JS.API.CONSUMER.MSG.NEXT.>", {
      callback: (_, message) => void asked.push(message.json<{ batch: number }>().batch),
    });
    await watcher.flush();
    await serve({ note: () => {} });
    await expect.poll(() => asked.length).toBeGreaterThan(0);
    const mostBytes = Math.max(...asked) * (watcher.info?.max_payload ?? 0);
    // Half of the default of `max_pending`.
    expect(mostBytes).toBeLessThanOrEqual(32 * 1024 * 1024);
  });

  test("are parsed only when the server has room for them", async () => {
    const { serve, publisher } = await setUp();
    const gate = deferred();
    onTestFinished(() => gate.resolve());
    const handled = deferred();
    const methods = { wait: () => gate.promise, note: () => handled.resolve() };
    const { worker, server } = await serve(methods, { maxRunning: 1 });
    const client = await publisher();
    await client.notify("wait", {});
    await expect.poll(() => worker.inFlight).toBe(1);
    const answer = vi.spyOn(server.answerer, "answerPayload");
    await client.notify("note", { text: "unparsed" });
    await expect.poll(() => worker.inFlight).toBe(2);
    gate.resolve();
    await handled.promise;
    expect(answer.mock.calls.filter(([, text]) => text.includes("unparsed"))).toHaveLength(1);
  });

  test("become dead letters unread if they are longer than maxMessageBytes", async () => {
    const { serve, publisher, dead } = await setUp();
    const lengths: number[] = [];
    const handled = deferred();
    const note = ({ text }: { text: string }): void => {
      lengths.push(text.length);
      if (text.length === 1) handled.resolve();
    };
    await serve({ note }, { limits: { maxMessageBytes: 1_000 } });
    const client = await publisher();
    await client.notify("note", { text: "x".repeat(2_000) });
    await client.notify("note", { text: "x" });
    await handled.promise;
    await expect.poll(() => dead).toEqual(["jobs-dead.any.note"]);
    expect(lengths).toEqual([1]);
  });

  test("signal often that they are in progress, since an election loses these signals for seconds", async () => {
    const { testNats, serve, publisher } = await setUp();
    const [begun, work] = [deferred(), deferred()];
    onTestFinished(() => work.resolve());
    const note = () => {
      begun.resolve();
      return work.promise;
    };
    await serve({ note }, {}, { ackWaitMs: 600_000 });
    const listener = await testNats.connect();
    const signs = listener.subscribe("$JS.ACK.>", { max: 1 });
    await listener.flush();
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    await (await publisher()).notify("note");
    await begun.promise;
    vi.advanceTimersByTime(2_000);
    for await (const sign of signs) expect(sign.string()).toBe("+WPI");
  });

  test("whose method passes on a rate limit of another service have failed", async () => {
    const { serve, publisher, dead } = await setUp();
    let tries = 0;
    const note = method({}, () => {
      tries++;
      throw new RpcError(ErrorCode.RateLimited, "Rate limited");
    });
    await serve({ note }, {}, { maxTries: 3 });
    await (await publisher()).notify("note");
    await expect.poll(() => dead).toEqual(["jobs-dead.any.note"]);
    expect(tries).toBe(3);
  });

  test("are done when their method is, whatever it returns", async () => {
    const { serve, publisher, dead } = await setUp();
    const ran: string[] = [];
    const last = deferred();
    const returning = (name: string, value: unknown) =>
      method({}, () => {
        ran.push(name);
        return value;
      });
    const circle: unknown[] = [];
    circle.push(circle);
    await serve(
      {
        number: returning("number", 10n),
        circle: returning("circle", circle),
        long: returning("long", "x".repeat(2_000)),
        last: method({}, () => last.resolve()),
      },
      { limits: { maxReplyLength: 1_000 } },
      { maxInFlight: 1 },
    );
    const client = await publisher();
    for (const name of ["number", "circle", "long", "last"]) await client.notify(name);
    await last.promise;
    expect(ran).toEqual(["number", "circle", "long"]);
    expect(dead).toEqual([]);
  });

  test("that fail with the code of a busy server count as tried, unless they did not run", async () => {
    const { serve, publisher, dead } = await setUp();
    let runs = 0;
    const pass = deferred();
    const refuse = (code: number, data?: object) =>
      method({}, () => {
        runs++;
        throw new RpcError(code, "Busy", data);
      });
    const busyUntilFourth = method({}, () => {
      if (++runs === 4) pass.resolve();
      else throw new RpcError(-32009, "Upstream failed", { ran: false, reason: "unavailable" });
    });
    await serve(
      {
        foreign: refuse(-32005),
        partly: refuse(-32005, { ran: true, reason: "busy" }),
        later: busyUntilFourth,
      },
      {},
      { maxTries: 2, maxInFlight: 1 },
    );
    const client = await publisher();
    for (const name of ["foreign", "partly"]) {
      runs = 0;
      await client.notify(name);
      await expect.poll(() => dead).toContain(`jobs-dead.any.${name}`);
      expect(runs).toBe(2);
    }
    runs = 0;
    await client.notify("later");
    await pass.promise;
    expect(dead).toHaveLength(2);
  });

  test("that wait for a full worker go to another when it closes", async () => {
    const { serve, publisher } = await setUp();
    const first = await serve(
      { block: method({}, () => new Promise(() => {})), note: method({}, () => {}) },
      { maxRunning: 1 },
    );
    void first.server.receive('{"jsonrpc":"2.0","method":"block","id":1}');
    await (await publisher()).notify("note");
    await expect.poll(() => first.worker.inFlight).toBe(1);
    const handled = deferred();
    await serve({ note: method({}, () => handled.resolve()) });
    await first.worker.close();
    expect(first.worker.inFlight).toBe(0);
    await handled.promise;
  });

  test("that arrive at the subject of another method become dead letters", async () => {
    const { testNats, serve, dead } = await setUp();
    const ran: string[] = [];
    const methods = {
      note: () => void ran.push("note"),
      admin: { wipe: () => void ran.push("wipe") },
    };
    await serve(methods, {}, { partitions: 2 });
    const client = jetstream(await testNats.connect(), patient);
    for (const place of ["jobs.any", "jobs.2.0", "jobs.2.1"]) {
      for (const misled of ["note", "admin", "admin.note", "x.admin.wipe"]) {
        await client.publish(`${place}.${misled}`, '{"jsonrpc":"2.0","method":"admin/wipe"}');
      }
      await client.publish(`${place}.note`, '{"jsonrpc":"2.0","method":"note"}');
    }
    await expect.poll(() => ran.length + dead.length).toBe(15);
    expect(ran).toEqual(new Array(3).fill("note"));
  });

  test("with headers for nats-server still become dead letters", async () => {
    const { testNats, serve, dead } = await setUp();
    const done = deferred();
    await serve({ note: () => done.resolve() }, {}, { maxInFlight: 1 });
    const client = jetstream(await testNats.connect(), patient);
    const text = '{"jsonrpc":"2.0","method":"unknown"}';
    const expected = { streamName: "JOBS", lastSequence: 0 };
    await client.publish("jobs.any.unknown", text, { msgID: "1", expect: expected });
    await client.publish("jobs.any.note", '{"jsonrpc":"2.0","method":"note"}');
    await done.promise;
    expect(dead).toEqual(["jobs-dead.any.unknown"]);
  });
});
