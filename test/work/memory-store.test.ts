import { FakeClock } from "callwire/testing";
import { MemoryWorkStore } from "callwire/work";
import { describe, expect, test } from "vitest";
import { recordOf, storeContract } from "./store-contract.ts";

describe("a store in memory", () => {
  storeContract(async () => new MemoryWorkStore());

  test("drops a record after ttlMs, or after its own ttlMs", () => {
    const clock = new FakeClock();
    const store = new MemoryWorkStore({ clock, ttlMs: 10_000 });
    store.save(recordOf("long"));
    store.save(recordOf("short", { ttlMs: 2_000 }));
    clock.advance(2_001);
    expect([store.load("long")?.id, store.load("short")]).toEqual(["long", undefined]);
    expect(store.list({ owner: "me", limit: 9 }).total).toBe(1);
    clock.advance(10_000);
    expect(store.load("long")).toBeUndefined();
    expect(store.save(recordOf("long"))).toBe(true);
  });

  test("makes room by the oldest finished record of the owner that has most", () => {
    const store = new MemoryWorkStore({ maxRecords: 3 });
    const over = { phase: "over" } as const;
    store.save(recordOf("yours", { owner: "you", ...over }));
    store.save(recordOf("first", over));
    store.save(recordOf("second", over));
    store.save(recordOf("third"));
    expect([store.load("first"), store.load("yours")?.id]).toEqual([undefined, "yours"]);
    store.save(recordOf("fourth"));
    // The records that are left to remove belong to an owner that has fewer.
    expect(() => store.save(recordOf("fifth"))).toThrow(/busy/i);
  });

  test("refuses what does not fit in its memory, but not the end of work", () => {
    const store = new MemoryWorkStore({ maxBytes: 100 });
    store.save(recordOf("one", { bytes: 90 }));
    expect(() => store.save(recordOf("two", { bytes: 20 }))).toThrow(/busy/i);
    expect(store.save(recordOf("one", { bytes: 120, version: 2, phase: "over" }))).toBe(true);
    expect(store.save(recordOf("two", { bytes: 20 }))).toBe(true);
    expect(store.load("one")).toBeUndefined();
  });
});
