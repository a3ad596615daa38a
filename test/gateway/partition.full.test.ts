import type { ChildProcess } from "node:child_process";
import { connect, type NatsConnection, type NodeConnectionOptions } from "@nats-io/transport-node";
import { type Client, createClient, ErrorCode, RpcError, WireError } from "callwire";
import type { RouteConfig, UpstreamConfig } from "callwire/gateway";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { natsLink } from "callwire/nats";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { describeWith } from "../services.ts";
import { type NatsServer, startNats } from "../transports/nats/nats-server.ts";
import { killWorker, startWorkerBy } from "../transports/nats/worker-process.ts";
import { start } from "./behind.ts";
import { Cable } from "./cable.ts";

const subject = "parted";
/** Longer than a test may run: a call that ends earlier has not waited for it. */
const timeoutMs = 60_000;
/**
 * Short enough for a test, and long enough that a nats-server that is busy for a second does not
 * look like a cut cable.
 */
const pinging = { pingInterval: 700, maxPingOut: 2 };
const didNotRun = (outcome: unknown): boolean =>
  outcome instanceof RpcError && (outcome.data as { ran?: unknown } | undefined)?.ran === false;
const mayHaveRun = { ran: "unknown", reason: "connection-lost" };

describeWith(["nats-server", "network namespaces"], "a network that parts", () => {
  let cable: Cable;
  let nats: NatsServer;
  let worker: ChildProcess;

  beforeAll(async () => {
    cable = new Cable();
    const place = { host: "0.0.0.0", by: cable.there };
    nats = await startNats('jetstream: { store_dir: "$FOLDER" }', place);
    worker = await startWorkerBy(cable.there, `${nats.port}`, subject);
  });

  afterAll(async () => {
    await (worker && killWorker(worker));
    await nats?.stop();
    cable?.remove();
  });

  /** A gateway on this side of the cable; nats-server and its worker are on the other. */
  async function setUp(
    settings: {
      readonly nats?: NodeConnectionOptions;
      readonly aliveMs?: number;
      readonly upstream?: Partial<UpstreamConfig>;
      readonly route?: Partial<RouteConfig>;
    } = {},
  ): Promise<{ client: Client; connection: NatsConnection }> {
    const connection = await connect({
      servers: `${cable.address}:${nats.port}`,
      timeout: 500,
      // A busy machine may take longer for the first.
      waitOnFirstConnect: true,
      reconnectTimeWait: 50,
      maxReconnectAttempts: -1,
      ...settings.nats,
    });
    const { aliveMs } = settings;
    const gateway = await start({
      upstreams: {
        workers: {
          targets: { nats: (service) => natsLink(connection, { subject, service, aliveMs }) },
          healthCheck: false,
          ...settings.upstream,
        },
      },
      routes: [{ method: "*", to: "workers", timeoutMs, ...settings.route }],
    });
    const { url } = await serveHttp(gateway, { port: 0 });
    const client = createClient(httpLink(url), { timeoutMs });
    onTestFinished(async () => {
      cable.join();
      await client.close();
      await connection.close();
    });
    return { client, connection };
  }

  const noticing = {
    "NATS's own pings": { nats: pinging },
    "the link's questions": { aliveMs: 500 },
    "the gateway's health checks": {
      upstream: { healthCheck: { everyMs: 100, timeoutMs: 2_000 } },
    },
  };
  for (const [who, settings] of Object.entries(noticing)) {
    test(`${who} notice it: calls fail at once, and are answered again once it is whole`, async () => {
      const { client } = await setUp(settings);
      expect(await client.call("work", [1])).toBe(1);
      cable.cut();
      await until(client, didNotRun);
      // None waits for its timeout any more.
      for (let i = 0; i < 50; i++) {
        await expect(client.call("work", [i])).rejects.toMatchObject({
          code: ErrorCode.UpstreamFailed,
        });
      }
      cable.join();
      await until(client, (outcome) => outcome === "answered");
      const values = Array.from({ length: 100 }, (_, i) => i);
      expect(await Promise.all(values.map((i) => client.call("work", [i])))).toEqual(values);
    });
  }

  test("a call in progress gets an error that it may have run", async () => {
    const { client, connection } = await setUp({ nats: pinging });
    const running = connection.subscribe(`${subject}-held`, { max: 1 });
    const held = client.call("hold");
    held.catch(() => {});
    for await (const _ of running) break;
    cable.cut();
    await expect(held).rejects.toMatchObject({
      code: ErrorCode.UpstreamFailed,
      data: mayHaveRun,
    });
  });

  test("an idempotent call waits, and is answered once the network is repaired", async () => {
    const { client, connection } = await setUp({
      nats: pinging,
      route: { idempotent: true },
    });
    expect(await client.call("work", [1])).toBe(1);
    cable.cut();
    const waiting = Promise.all([2, 3, 4].map((i) => client.call("work", [i])));
    for await (const { type } of connection.status()) if (type === "disconnect") break;
    cable.join();
    expect(await waiting).toEqual([2, 3, 4]);
  });

  test("under load, every call has an answer or an error, and all is well afterwards", async () => {
    const { client } = await setUp({ nats: pinging });
    let over = false;
    const outcomes = new Map<string, number>();
    const load = Array.from({ length: 16 }, async () => {
      while (!over) {
        const outcome = await attempt(client);
        const name = outcome instanceof Error ? `${(outcome as RpcError).code}` : outcome;
        outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
      }
    });
    for (let round = 0; round < 3; round++) {
      await until(client, (outcome) => outcome === "answered");
      cable.cut();
      await until(client, didNotRun);
      cable.join();
    }
    await until(client, (outcome) => outcome === "answered");
    over = true;
    await Promise.all(load);
    // The timeout of a call may be noticed here or by the gateway first.
    const late = ["TIMEOUT", `${ErrorCode.RequestTimeout}`];
    const expected = ["answered", `${ErrorCode.UpstreamFailed}`, ...late];
    expect([...outcomes.keys()].filter((name) => !expected.includes(name))).toEqual([]);
    expect(outcomes.get("answered")).toBeGreaterThan(0);
    for (let i = 0; i < 100; i++) expect(await client.call("work", [i])).toBe(i);
  });
});

/** One call with a short timeout, and its outcome. */
async function attempt(client: Client): Promise<"answered" | Error> {
  try {
    expect(await client.call("work", [7], { timeoutMs: 300 })).toBe(7);
    return "answered";
  } catch (error) {
    // The test is over.
    if (error instanceof WireError && error.code === "CLOSED") throw error;
    return error as Error;
  }
}

/** Repeats calls until one ends as expected; the limit of the test is the limit. */
async function until(
  client: Client,
  isThat: (outcome: "answered" | Error) => boolean,
): Promise<void> {
  while (!isThat(await attempt(client)));
}
