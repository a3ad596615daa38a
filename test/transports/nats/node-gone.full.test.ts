import { connect, type NatsConnection } from "@nats-io/transport-node";
import { createClient, createServer, type Methods, silentLog, stream } from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { FakeClock } from "callwire/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { startProxy } from "../contract.ts";
import { retrying, startCluster } from "./cluster.ts";
import type { NatsServer } from "./nats-server.ts";

describeWith(["nats-server"], "calls when a node dies", () => {
  async function open(...nodes: readonly NatsServer[]): Promise<NatsConnection> {
    const connection = await connect({
      servers: nodes.map(({ port }) => `127.0.0.1:${port}`),
      noRandomize: true,
      reconnectTimeWait: 50,
      maxReconnectAttempts: -1,
    });
    onTestFinished(() => connection.close());
    return connection;
  }

  async function serve(
    methods: Methods,
    connection: NatsConnection,
    subject = "test",
  ): Promise<void> {
    const server = createServer(methods, { log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    await serveNats(server, connection, { subject });
  }

  test("are soon reported as lost, or sent to another worker, if they passed through it; others are not", async () => {
    const nodes = await startCluster();
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    });
    const [first, second, third] = nodes as [NatsServer, NatsServer, NatsServer];
    const held = deferred<string>();
    const begun = deferred();
    const hold = () => {
      begun.resolve();
      return held.promise;
    };
    const without = deferred<string>();
    const waiting = deferred();
    const late = () => {
      waiting.resolve();
      return without.promise;
    };
    const moving = await open(first, second, third);
    await serve({ far: (n: number) => n, late }, moving);
    await serve({ far: (n: number) => n }, moving, "alone");
    void (async () => {
      for await (const { type } of moving.status()) {
        if (type === "disconnect") setImmediate(without.resolve, "between two nodes");
      }
    })();
    await serve({ hold }, await open(second));
    const connection = await open(second, third);
    // With the default, it would probe them too late for this test.
    const link = natsLink(connection, { subject: "test", aliveMs: 60_000 });
    const client = createClient(link, { timeoutMs: 600_000 });
    // Until the nodes have exchanged who serves what.
    expect(await retrying(() => client.call("far", [1]))).toBe(1);
    const kept = client.call("hold");
    await begun.promise;
    const answered = client.call("late");
    await waiting.promise;

    first.freeze();
    const lost = client.call("far", [2]);
    const repeated = client.call("far", [3], { idempotent: true });
    const unknown = natsLink(connection, { subject: "alone", aliveMs: 60_000 });
    const firstOfLink = createClient(unknown, { timeoutMs: 600_000 }).call("far", [4]);
    firstOfLink.catch(() => {});
    await connection.flush();
    await first.kill();
    expect(await answered).toBe("between two nodes");
    await expect(lost).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    expect(await repeated).toBe(3);
    // This link does not know a worker yet.
    await expect(firstOfLink).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    held.resolve("still there");
    expect(await kept).toBe("still there");
  });

  describe("whose worker is on its way to another", () => {
    /** A worker that leaves as a node dies, and returns when the test says so. */
    async function leaving(methods: Methods) {
      const nodes = await startCluster();
      onTestFinished(async () => {
        await Promise.all(nodes.map((node) => node.stop()));
      });
      const [first, second] = nodes as [NatsServer, NatsServer, NatsServer];
      const proxy = await startProxy({ port: second.port });
      onTestFinished(() => proxy.close());
      const away = await connect({
        port: proxy.port,
        reconnectTimeWait: 20,
        maxReconnectAttempts: -1,
        ignoreClusterUpdates: true,
      });
      onTestFinished(() => away.close());
      await serve({ ...methods, ping: () => "pong" }, away);
      const clock = new FakeClock();
      const connection = await open(second);
      const link = natsLink(connection, { subject: "test", aliveMs: 60_000, clock });
      const client = createClient(link, { timeoutMs: 600_000 });
      // From then on it knows that there is a worker to probe.
      expect(await client.call("ping")).toBe("pong");
      const leave = async (): Promise<void> => {
        const gone = next(away, "disconnect");
        proxy.freeze();
        proxy.cut();
        await gone;
        const { waiting } = clock;
        await first.kill();
        // It is about to probe.
        await expect.poll(() => clock.waiting).toBeGreaterThan(waiting);
      };
      const comeBack = async (): Promise<void> => {
        const back = next(away, "reconnect");
        proxy.thaw();
        await back;
      };
      return { client, clock, connection, leave, comeBack };
    }

    test("are not lost", async () => {
      const held = deferred<string>();
      const begun = deferred();
      const hold = () => {
        begun.resolve();
        return held.promise;
      };
      const { client, clock, connection, leave, comeBack } = await leaving({ hold });
      const call = client.call("hold");
      await begun.promise;
      await leave();
      clock.advance(1_000);
      // nats-server has reported that there is no subscriber.
      await connection.flush();
      await comeBack();
      held.resolve("still there");
      expect(await call).toBe("still there");
    });

    test("continue as streams, although messages of their reader were lost meanwhile", async () => {
      const count = stream({}, async function* () {
        for (let i = 0; i < 200; i++) yield i;
      });
      const { client, clock, connection, leave, comeBack } = await leaving({ count });
      const items = client.stream<number>("count")[Symbol.asyncIterator]();
      expect(await items.next()).toMatchObject({ value: 0 });
      // All items that may arrive without more credit have arrived.
      await connection.flush();
      await leave();
      const read = [0];
      while (read.length < 60) read.push((await items.next()).value as number);
      // nats-server has reported that the credit has no subscriber.
      await connection.flush();
      await comeBack();
      const rest = (async () => {
        for await (const item of { [Symbol.asyncIterator]: () => items }) read.push(item);
        return "over";
      })();
      const asked = async () => {
        clock.advance(1_000);
        // The worker has had time to answer.
        await retrying(() => client.call("ping"));
      };
      while ((await Promise.race([rest, asked()])) !== "over");
      expect(read).toEqual(Array.from({ length: 200 }, (_, i) => i));
    });
  });
});

async function next(connection: NatsConnection, event: string): Promise<void> {
  for await (const { type } of connection.status()) if (type === event) return;
}
