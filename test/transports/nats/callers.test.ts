import type { NatsConnection } from "@nats-io/transport-node";
import {
  createClient,
  createServer,
  ErrorCode,
  type Methods,
  method,
  silentLog,
  stream,
} from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { startProxy } from "../contract.ts";
import { turn } from "../contract-methods.ts";
import { patient, TestNats } from "./test-nats.ts";

const subject = "test";
const aliveMs = 1000;
const busy = { code: ErrorCode.ServerBusy };

/** Calls that wait until they are released, and how many of them run. */
class Held {
  readonly methods: Methods;
  running = 0;
  readonly #release: (() => void)[] = [];

  constructor() {
    const hold = () =>
      new Promise<string>((resolve) => {
        this.running++;
        this.#release.push(() => {
          this.running--;
          resolve("held");
        });
      });
    this.methods = { hold, echo: (value: unknown) => value };
  }

  async reached(count: number): Promise<void> {
    while (this.running < count) await turn();
  }

  release(): void {
    for (const release of this.#release.splice(0)) release();
  }
}

/** Long enough that everything that was sent has arrived, and has been answered. */
async function settled(...connections: NatsConnection[]): Promise<void> {
  for (let i = 0; i < 3; i++) await Promise.all(connections.map((each) => each.flush()));
}

describeWith(["nats-server"], "callers over NATS", () => {
  test("may take long to answer a call back", async () => {
    const testNats = await TestNats.start();
    const clock = new FakeClock();
    const { connection } = await testNats.serve(
      { ask: method({}, (_, call) => call.peer.call("slow")) },
      { clock, aliveMs },
    );
    const gate = deferred<string>();
    const reached = deferred();
    const slow = () => {
      reached.resolve();
      return gate.promise;
    };
    const own = await testNats.connect();
    const service = createServer({ slow });
    const client = createClient(natsLink(own, { subject, service, aliveMs: 1e6 }));
    const call = client.call("ask");
    await reached.promise;
    for (let round = 0; round < 10; round++) {
      clock.advance(aliveMs);
      await settled(connection, own);
    }
    gate.resolve("at last");
    expect(await call).toBe("at last");
  });

  test("notice that a worker died while another probes for them", async () => {
    const testNats = await TestNats.start();
    const [workerClock, clock] = [new FakeClock(), new FakeClock()];
    const held = new Held();
    const proxy = await startProxy({ port: testNats.nats.port });
    const doomed = await testNats.connect({ port: proxy.port, reconnect: false });
    const doomedServer = createServer({ die: held.methods.hold as never }, { log: silentLog });
    await serveNats(doomedServer, doomed, { subject, aliveMs: Number.POSITIVE_INFINITY });
    const kept = await testNats.serve(held.methods, { clock: workerClock, aliveMs });
    const own = await testNats.connect();
    const client = createClient(natsLink(own, { subject, aliveMs, clock }));
    let lost: unknown;
    const dead = client.call("die").catch((error: unknown) => {
      lost = error;
    });
    const call = client.call("hold");
    await held.reached(2);
    proxy.close();
    while (lost === undefined) {
      workerClock.advance(aliveMs);
      await settled(kept.connection, own);
      clock.advance(aliveMs);
      await settled(kept.connection, own);
    }
    await dead;
    expect(lost).toMatchObject({ code: "CONNECTION_LOST" });
    held.release();
    expect(await call).toBe("held");
  });

  test("have so many calls in progress, each of them", async () => {
    const testNats = await TestNats.start();
    const held = new Held();
    await testNats.serve(held.methods, { server: { limits: { maxInFlight: 3 } } });
    const [one, other] = await Promise.all(
      [1, 2].map(async () => createClient(natsLink(await testNats.connect(), { subject }))),
    );
    const calls = [1, 2, 3].map(() => one?.call("hold"));
    await held.reached(3);
    await expect(one?.call("echo", ["more"])).rejects.toMatchObject(busy);
    expect(await other?.call("echo", ["mine"])).toBe("mine");
    held.release();
    expect(await Promise.all(calls)).toEqual(["held", "held", "held"]);
    expect(await one?.call("echo", ["again"])).toBe("again");
  });

  test("cannot start more by giving up what continues", async () => {
    const testNats = await TestNats.start();
    const held = new Held();
    await testNats.serve(held.methods, { server: { limits: { maxInFlight: 2 } } });
    const client = createClient(natsLink(await testNats.connect(), { subject }));
    for (let i = 1; i <= 2; i++) {
      const controller = new AbortController();
      const call = client.call("hold", undefined, { signal: controller.signal });
      await held.reached(i);
      controller.abort();
      await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    }
    await expect(client.call("hold")).rejects.toMatchObject(busy);
    expect(held.running).toBe(2);
    held.release();
    await settled(await testNats.connect());
    expect(await client.call("echo", ["free"])).toBe("free");
  });

  test("have the calls of their batches counted with the others", async () => {
    const testNats = await TestNats.start();
    const held = new Held();
    await testNats.serve(held.methods, { server: { limits: { maxInFlight: 3 } } });
    const client = createClient<{ hold(): string }>(
      natsLink(await testNats.connect(), { subject }),
    );
    const first = client.batchSettled((b) => [b.hold(), b.hold()]);
    await held.reached(2);
    const second = client.batchSettled((b) => [b.hold(), b.hold()]);
    await held.reached(3);
    held.release();
    expect(await first).toMatchObject([{ value: "held" }, { value: "held" }]);
    expect(await second).toMatchObject([{ value: "held" }, { reason: busy }]);
  });

  test("are distinguished by their inboxes, also with NATS's own client", async () => {
    const testNats = await TestNats.start();
    const held = new Held();
    await testNats.serve(held.methods, { server: { limits: { maxInFlight: 2 } } });
    const body = (name: string) => `{"jsonrpc":"2.0","method":"${name}","params":[],"id":1}`;
    const ask = async (connection: NatsConnection, name: string) =>
      (await connection.request(`test.${name}`, body(name), patient)).json();
    const [one, other] = await Promise.all([testNats.connect(), testNats.connect()]);
    const calls = [ask(one, "hold"), ask(one, "hold")];
    await held.reached(2);
    expect(await ask(one, "echo")).toMatchObject({ error: busy });
    expect(await ask(other, "echo")).toMatchObject({ id: 1 });
    held.release();
    expect(await Promise.all(calls)).toMatchObject([{ result: "held" }, { result: "held" }]);
  });

  test("of other accounts are not treated as one, although they look alike", async () => {
    const testNats = await TestNats.start(`accounts {
      WORKERS { users: [{ user: worker, password: x }], exports: [{ service: "test.>" }] }
      BLUE { users: [{ user: blue, password: x }], imports: [{ service: { account: WORKERS, subject: "test.>" } }] }
      GREEN { users: [{ user: green, password: x }], imports: [{ service: { account: WORKERS, subject: "test.>" } }] }
    }`);
    const as = (user: string) => testNats.connect({ user, pass: "x" });
    const held = new Held();
    const server = createServer(held.methods, { log: silentLog, limits: { maxInFlight: 1 } });
    await serveNats(server, await as("worker"), { subject });
    const blue = createClient(natsLink(await as("blue"), { subject }));
    const green = createClient(natsLink(await as("green"), { subject }));
    const call = blue.call("hold");
    await held.reached(1);
    expect(await green.call("echo", ["mine"])).toBe("mine");
    held.release();
    expect(await call).toBe("held");
    await server.close();
  });

  test("are one caller together if they have no reply subject, as in notifications", async () => {
    const testNats = await TestNats.start();
    const held = new Held();
    await testNats.serve(held.methods, { server: { limits: { maxInFlight: 3 } } });
    const own = await testNats.connect();
    const client = createClient(natsLink(own, { subject }));
    for (let i = 0; i < 5; i++) await client.notify("hold");
    // Everything sent before has arrived when this is answered.
    expect(await client.call("echo", ["a call"])).toBe("a call");
    expect(held.running).toBe(3);
    held.release();
  });

  test("have so many streams open, each of them", async () => {
    const testNats = await TestNats.start();
    const endless = stream({}, async function* () {
      for (let i = 0; ; i++) yield i;
    });
    await testNats.serve({ endless }, { server: { limits: { maxStreams: 2 } } });
    const [one, other] = await Promise.all(
      [1, 2].map(async () => createClient(natsLink(await testNats.connect(), { subject }))),
    );
    const open = async (client = one) => {
      const items = client?.stream("endless")[Symbol.asyncIterator]();
      expect((await items?.next())?.value).toBe(0);
      return items;
    };
    const [first] = [await open(), await open()];
    await expect(open()).rejects.toMatchObject(busy);
    await open(other);
    await first?.return?.();
    for (;;) {
      const outcome = await open().catch((error: unknown) => error);
      // The worker learns a moment later that the first was abandoned.
      if (!(outcome instanceof Error)) break;
      expect(outcome).toMatchObject(busy);
    }
  });

  test("are reported as gone also to a handler that asks only afterwards", async () => {
    const testNats = await TestNats.start();
    const clock = new FakeClock();
    const begun = deferred();
    const heard = deferred<boolean>();
    const { connection } = await testNats.serve(
      {
        hold: method({}, async (_, { signal, peer }) => {
          const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
          begun.resolve();
          await aborted;
          await turn();
          await peer.closed;
          heard.resolve(peer.end?.canNotify ?? true);
        }),
      },
      { clock, aliveMs },
    );
    const own = await testNats.connect();
    const call = createClient(natsLink(own, { subject })).call("hold");
    await begun.promise;
    await own.close();
    await expect(call).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    for (let round = 0; round < 3; round++) {
      clock.advance(aliveMs);
      await settled(connection);
    }
    expect(await heard.promise).toBe(false);
  });

  test("that are not mailboxes count as gone when they have their answer", async () => {
    const testNats = await TestNats.start();
    const gone = deferred();
    await testNats.serve({
      watched: method({ params: z.array(z.unknown()) }, (_, call) => {
        void call.peer.closed.then(() => gone.resolve());
        return "answered";
      }),
    });
    const own = await testNats.connect();
    const body = '{"jsonrpc":"2.0","method":"watched","params":[],"id":1}';
    const answer = await own.request("test.watched", body, patient);
    expect(answer.json()).toMatchObject({ result: "answered" });
    await gone.promise;
  });
});
