import type { ChildProcess } from "node:child_process";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { createClient, WireError } from "callwire";
import { natsLink } from "callwire/nats";
import { durableLink } from "callwire/nats/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { formed, retrying, startCluster } from "./cluster.ts";
import { type NatsServer, startNats } from "./nats-server.ts";
import { killWorker, startWorker } from "./worker-process.ts";

const subject = "faulty";
/** Codes that name the wire or the worker as the reason. */
const expectedCodes = ["CONNECTION_LOST", "CONNECTION_FAILED", "TIMEOUT"];

describeWith(["nats-server"], "faults", () => {
  test("workers that are killed lose no notification and leave no call open", async () => {
    const total = 20_000;
    const nats = await startNats('jetstream: { store_dir: "$FOLDER" }');
    onTestFinished(() => nats.stop());
    const workers: ChildProcess[] = [];
    onTestFinished(async () => {
      await Promise.all(workers.map(killWorker));
    });
    const port = `${nats.port}`;
    // The first creates the streams.
    for (let i = 0; i < 3; i++) workers.push(await startWorker(port, subject));
    const connection = await connect({ port: nats.port });
    onTestFinished(() => connection.close());

    const handled = new Set<string>();
    const all = deferred();
    connection.subscribe(`${subject}-handled`, {
      callback: (_, message) => {
        message.respond();
        handled.add(message.string());
        if (handled.size === total) all.resolve();
      },
    });
    const publisher = createClient(durableLink(connection, { subject: `${subject}-notes` }));
    const client = createClient(natsLink(connection, { subject, aliveMs: 100 }), {
      timeoutMs: 10_000,
    });

    let next = 0;
    const publishing = Array.from({ length: 100 }, async () => {
      while (next < total) await publisher.notify("note", [next++]);
    });
    let over = false;
    let answered = 0;
    const failures: unknown[] = [];
    const calling = Array.from({ length: 32 }, async (_, i) => {
      while (!over) {
        try {
          expect(await client.call("work", [i])).toBe(i);
          answered++;
        } catch (error) {
          failures.push(error);
        }
      }
    });
    const killing = (async () => {
      let kills = 0;
      while (next < total) {
        const victim = workers.splice(Math.floor(Math.random() * workers.length), 1)[0];
        await killWorker(victim as ChildProcess);
        kills++;
        workers.push(await startWorker(port, subject));
      }
      return kills;
    })();
    await Promise.all(publishing);
    const kills = await killing;
    await all.promise;
    over = true;
    await Promise.all(calling);
    expect(kills).toBeGreaterThan(0);
    expect(answered).toBeGreaterThan(100);
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(WireError);
      expect(expectedCodes).toContain((failure as WireError).code);
    }
  }, 240_000);

  test("a cluster that loses one of its three nodes continues", async () => {
    const nodes = await startCluster();
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    });
    const ports = nodes.map(({ port }) => `${port}`);
    await formed(nodes);
    const worker = await startWorker(ports.join(), subject, "3");
    const other = await startWorker(ports.toReversed().join(), subject, "3");
    onTestFinished(async () => {
      await Promise.all([worker, other].map(killWorker));
    });
    const connection = await connect({
      servers: ports.map((port) => `127.0.0.1:${port}`),
      reconnectTimeWait: 50,
      maxReconnectAttempts: -1,
    });
    onTestFinished(() => connection.close());
    // The worst node to lose: the one that this client is connected to.
    const victim = nodes.find(({ port }) => connection.getServer().endsWith(`:${port}`));
    const witness = await connect({ port: nodes.find((node) => node !== victim)?.port ?? 0 });
    onTestFinished(() => witness.close());
    const total = 200;
    const handled = new Set<string>();
    const all = deferred();
    witness.subscribe(`${subject}-handled`, {
      callback: (_, message) => {
        message.respond();
        handled.add(message.string());
        if (handled.size === total) all.resolve();
      },
    });
    await witness.flush();
    const link = natsLink(connection, { subject, aliveMs: 100 });
    const client = createClient(link, { timeoutMs: 1_000 });
    const notes = durableLink(connection, { subject: `${subject}-notes`, timeoutMs: 60_000 });
    const publisher = createClient(notes, { timeoutMs: 60_000 });
    for (let i = 0; i < total / 2; i++) await publisher.notify("note", [i]);
    // Until the node dies, a process that is busy for a while must not count as dead.
    const patient = createClient(natsLink(connection, { subject }), { timeoutMs: 60_000 });
    expect(await patient.call("work", [1])).toBe(1);

    await (victim as NatsServer).kill();
    const killedAt = performance.now();
    expect(await retrying(() => client.call("work", [2]))).toBe(2);
    // Measured: some tenths of a second.
    expect(performance.now() - killedAt).toBeLessThan(5_000);
    for (let i = total / 2; i < total; i++) await publisher.notify("note", [i]);
    await all.promise;
  }, 240_000);

  test("a publisher outlives the leader of its stream, and stores each notification once", async () => {
    const nodes = await startCluster();
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    });
    await formed(nodes);
    const connection = await connect({
      servers: nodes.map(({ port }) => `127.0.0.1:${port}`),
      reconnectTimeWait: 50,
      maxReconnectAttempts: -1,
    });
    onTestFinished(() => connection.close());
    const manager = await jetstreamManager(connection);
    await manager.streams.add({
      name: "ORDERS",
      subjects: ["orders.>"],
      num_replicas: 3,
      retention: "workqueue",
    });
    const { cluster } = await manager.streams.info("ORDERS");
    const leader = nodes[Number(cluster?.leader?.slice("n".length))];

    const total = 400;
    const publisher = createClient(durableLink(connection, { subject: "orders" }), {
      timeoutMs: 60_000,
    });
    const stored: number[] = [];
    let next = 0;
    const publish = async (): Promise<void> => {
      while (next < total) {
        const number = next++;
        await publisher.notify("placed", [number]);
        stored.push(number);
      }
    };
    const publishing = Promise.all(Array.from({ length: 20 }, publish));
    while (stored.length < total / 4) await new Promise((resolve) => setImmediate(resolve));
    expect(stored.length).toBeLessThan(total);
    await (leader as NatsServer).kill();
    await publishing;

    expect(stored.toSorted((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, i) => i));
    // As nats-server has them: every confirmed one is there, and those that were sent twice are
    // there once.
    const { state, cluster: after } = await retrying(() => manager.streams.info("ORDERS"));
    expect(after?.leader).not.toBe(cluster?.leader);
    const kept: number[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const message = await retrying(() => manager.streams.getMessage("ORDERS", { seq }));
      kept.push(...(message?.json<{ params: number[] }>().params ?? []));
    }
    expect(kept.toSorted((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, i) => i));
  }, 240_000);
});
