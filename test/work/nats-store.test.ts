import { StorageType } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { natsWork } from "callwire/nats/kv";
import { FakeClock } from "callwire/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../services.ts";
import { type NatsServer, startNats } from "../transports/nats/nats-server.ts";
import { recordOf, sharedStoreContract, storeContract } from "./store-contract.ts";

describeWith(["nats-server"], "a store in NATS", () => {
  let nats: NatsServer;
  let connection: NatsConnection;
  let buckets = 0;

  beforeAll(async () => {
    nats = await startNats('jetstream: { store_dir: "$FOLDER" }');
    connection = await connect({ port: nats.port });
  });

  afterAll(async () => {
    await connection?.close();
    await nats?.stop();
  });

  const bucket = () =>
    new Kvm(connection).create(`work-${++buckets}`, { storage: StorageType.Memory });

  storeContract(async () => natsWork(await bucket()));
  sharedStoreContract(async () => natsWork(await bucket()));

  test("two processes take turns, and each sees what the other has written", async () => {
    const shared = await bucket();
    const [one, other] = [natsWork(shared), natsWork(shared)];
    for (let version = 1; version < 8; version++) {
      const writer = version % 3 === 0 ? other : one;
      const late = writer === one ? other : one;
      expect(await writer.save(recordOf("raced", { version }))).toBe(true);
      expect(await late.save(recordOf("raced", { version }))).toBe(false);
    }
    expect((await other.load("raced"))?.version).toBe(7);
  });

  test("forgets a record when its time is up", async () => {
    const clock = new FakeClock();
    const shared = await bucket();
    const store = natsWork(shared, { clock, ttlMs: 1_000 });
    await store.save(recordOf("old"));
    clock.advance(1_001);
    expect(await store.load("old")).toBeUndefined();
    expect((await store.list({ owner: "me", limit: 9 })).total).toBe(0);
  });
});
