/** The configs of docs/nats.md: what users need, and that they need no more. */
import { readFileSync } from "node:fs";
import type { NatsConnection } from "@nats-io/transport-node";
import { createClient, createServer, method, silentLog, stream } from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { durableLink, serveDurable } from "callwire/nats/jetstream";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { patient, TestNats } from "./test-nats.ts";

const page = readFileSync(new URL("../../../docs/nats.md", import.meta.url), "utf8");
const [config = "", withResponses = ""] = [...page.matchAll(/^```conf\n(.*?)^```$/gms)].map(
  ([, text = ""]) => text.replace("/var/lib/nats", "$FOLDER"),
);

const subject = "rpc";
const own = (user: string) => ({
  user,
  pass: `${user}-secret`,
  ...(user === "worker" ? {} : { inboxPrefix: `_INBOX.${user}` }),
});

/** A connection, and the permissions that it lacked. */
async function as(testNats: TestNats, user: string) {
  const connection = await testNats.connect(own(user));
  const lacking: string[] = [];
  const follow = async (): Promise<void> => {
    for await (const status of connection.status()) {
      if (status.type === "error") lacking.push(`${status.error.message}`);
    }
  };
  void follow();
  return { connection, lacking };
}

async function settled(...connections: NatsConnection[]): Promise<void> {
  for (let i = 0; i < 3; i++) for (const each of connections) await each.flush();
}

/** The methods of the page, served by its worker, and a stream that stays open. */
async function serving(testNats: TestNats, clock = new FakeClock()) {
  const { connection, lacking } = await as(testNats, "worker");
  const waiting = deferred();
  const ended = deferred();
  const left = deferred();
  const server = createServer(
    {
      math: {
        add: (a: number, b: number) => a + b,
        wipe: () => "wiped",
        ask: method({}, async (_, call) => call.peer.call("sure")),
        follow: method({}, (_, call) => void call.peer.closed.then(() => left.resolve())),
      },
      ticks: stream({}, async function* (params) {
        const [count] = params as [number];
        for (let i = 0; i < count; i++) yield i;
      }),
      wait: stream({}, async function* (_, { signal }) {
        yield 0;
        waiting.resolve();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        ended.resolve();
      }),
    },
    { log: silentLog },
  );
  onTestFinished(() => server.close({ drainMs: 0 }));
  await serveNats(server, connection, { subject, clock });
  return {
    connection,
    lacking,
    clock,
    waiting: waiting.promise,
    ended: ended.promise,
    left: left.promise,
  };
}

async function read(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of items) count++;
  return count;
}

describeWith(["nats-server"], "the permissions that the docs give", () => {
  test("let a caller use its methods and no others, and suffice", async () => {
    const testNats = await TestNats.start(config);
    const worker = await serving(testNats);
    const ann = await as(testNats, "ann");
    const client = createClient(natsLink(ann.connection, { subject }));
    expect(await client.call("math/add", [2, 3])).toBe(5);
    // More items than fit into one window of credit.
    expect(await read(client.stream("ticks", [5_000]))).toBe(5_000);
    await settled(ann.connection, worker.connection);
    expect([...ann.lacking, ...worker.lacking]).toEqual([]);
    await expect(client.call("math/wipe")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    const bob = await as(testNats, "bob");
    const other = createClient(natsLink(bob.connection, { subject }));
    await expect(other.call("math/add", [2, 3])).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
    });
  });

  test("do not let a caller make the worker publish to a stream", async () => {
    const testNats = await TestNats.start(config);
    const { connection: worker, lacking } = await serving(testNats);
    const handled: unknown[] = [];
    const placed = (n: number): void => void handled.push(n);
    const jobs = createServer({ order: { placed } }, { log: silentLog });
    onTestFinished(() => jobs.close());
    const durable = await as(testNats, "jobs");
    await serveDurable(jobs, durable.connection, { subject: "jobs", partitions: 8 });
    const { connection: ann } = await as(testNats, "ann");
    const text = '{"jsonrpc":"2.0","method":"math/add","params":[2,3],"id":1}';
    for (const reply of ["jobs.any.order.placed", "$JS.API.STREAM.DELETE.JOBS"]) {
      ann.publish("rpc.math.add", text, { reply });
    }
    expect((await ann.request("rpc.math.add", text, patient)).json()).toMatchObject({ result: 5 });
    await settled(worker);
    // The worker did not even try.
    expect(lacking).toEqual([]);
    worker.publish("jobs.any.order.placed", text);
    await expect.poll(() => lacking).toHaveLength(1);
    const bob = await as(testNats, "bob");
    const where = { subject: "jobs", partitions: 8, key: () => "7" };
    await createClient(durableLink(bob.connection, where)).notify("order/placed", [7]);
    await expect.poll(() => handled).toEqual([7]);
  });

  test("let durable notifications be stored, handled, acknowledged and become dead letters, and suffice", async () => {
    const testNats = await TestNats.start(config);
    const { connection, lacking } = await as(testNats, "jobs");
    const buried = deferred();
    const warn = (_: object, message: string): void => {
      if (message === "notification failed and was stored as a dead letter") buried.resolve();
    };
    const handled = deferred<number>();
    const log = { ...silentLog, warn };
    const server = createServer(
      { order: { placed: handled.resolve as (n: number) => void } },
      { log },
    );
    onTestFinished(() => server.close());
    const where = { subject: "jobs", partitions: 8 };
    await serveDurable(server, connection, where);
    const bob = await as(testNats, "bob");
    const client = createClient(durableLink(bob.connection, where));
    await client.notify("order/placed", [7]);
    expect(await handled.promise).toBe(7);
    bob.connection.publish("jobs.any.order.placed", "no JSON");
    await buried.promise;
    await settled(connection, bob.connection);
    expect([...lacking, ...bob.lacking]).toEqual([]);
    await expect(client.notify("order/wiped")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
  });

  test("let a worker with allow_responses answer calls and streams, and call back", async () => {
    const testNats = await TestNats.start(withResponses);
    await serving(testNats);
    const { connection: ann } = await as(testNats, "ann");
    const client = createClient(
      natsLink(ann, { subject, service: createServer({ sure: () => "yes" }) }),
    );
    expect(await client.call("math/add", [2, 3])).toBe(5);
    expect(await client.call("math/ask")).toBe("yes");
    expect(await read(client.stream("ticks", [500]))).toBe(500);
  });

  test("let a worker with allow_responses notice a lost caller, also when it may no longer probe", async () => {
    const testNats = await TestNats.start(withResponses.replace("max: 1000", "max: 5"));
    const { connection, lacking, clock, waiting, ended } = await serving(testNats);
    const { connection: ann } = await as(testNats, "ann");
    const link = natsLink(ann, { subject, clock });
    const items = createClient(link).stream("wait")[Symbol.asyncIterator]();
    await items.next();
    items.next().catch(() => {});
    await waiting;
    const passTime = async (): Promise<void> => {
      clock.advance(5_000);
      await settled(ann, connection);
    };
    // Every probe but the first five is refused.
    while (!lacking.some((message) => message.includes(".cw.0"))) await passTime();
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    for (let round = 0; round < 5; round++) await passTime();
    expect(isOver).toBe(false);
    await ann.close();
    while (!isOver) {
      clock.advance(5_000);
      await settled(connection);
    }
  });

  test("let a worker with allow_responses forget a caller that it may no longer ask", async () => {
    const testNats = await TestNats.start(withResponses.replace("max: 1000", "max: 5"));
    const { connection, clock, left } = await serving(testNats);
    const { connection: ann } = await as(testNats, "ann");
    await createClient(natsLink(ann, { subject })).call("math/follow");
    let isGone = false;
    void left.then(() => {
      isGone = true;
    });
    while (!isGone) {
      clock.advance(5_000);
      await settled(connection);
    }
  });

  test("end a stream with more items than allow_responses permits", async () => {
    const testNats = await TestNats.start(withResponses.replace("max: 1000", "max: 10"));
    await serving(testNats);
    const clock = new FakeClock();
    const { connection: ann } = await as(testNats, "ann");
    const client = createClient(natsLink(ann, { subject, clock }));
    const reading = read(client.stream("ticks", [100]));
    let outcome: unknown;
    reading.catch((error: unknown) => {
      outcome = error;
    });
    while (outcome === undefined) {
      clock.advance(5_000);
      await settled(ann);
    }
    expect(outcome).toMatchObject({ code: "CONNECTION_LOST" });
  });
});
