import type { WorkRecord, WorkStore } from "callwire/work";
import { expect, test } from "vitest";

/** A record of one owner; later versions follow by `version`. */
export function recordOf(id: string, more: Partial<WorkRecord> = {}): WorkRecord {
  return {
    id,
    owner: "me",
    group: "g",
    state: "working",
    phase: "active",
    version: 1,
    changedAt: 1,
    bytes: 10,
    body: { text: "ü" },
    ...more,
  };
}

/**
 * The requirements for every store. `open` returns one that is empty, or that no other test has
 * used.
 */
export function storeContract(open: () => Promise<WorkStore>): void {
  test("returns what was stored, until it is removed", async () => {
    const store = await open();
    const record = recordOf("kept", { leaseUntil: 5 });
    expect(await store.load("kept")).toBeUndefined();
    expect(await store.save(record)).toBe(true);
    expect(await store.load("kept")).toEqual(record);
    await store.remove("kept");
    await store.remove("kept");
    expect(await store.load("kept")).toBeUndefined();
    expect((await store.list({ owner: "me", limit: 9 })).total).toBe(0);
  });

  test("stores only the next version, whichever process writes it", async () => {
    const store = await open();
    const save = (version: number, text = "") =>
      store.save(recordOf("raced", { version, body: { text } }));
    expect(await save(1)).toBe(true);
    expect(await save(1)).toBe(false);
    const saves = await Promise.all(Array.from({ length: 10 }, (_, i) => save(2, `${i}`)));
    expect(saves.filter((won) => won)).toHaveLength(1);
    expect((await store.load("raced"))?.body).toEqual({ text: `${saves.indexOf(true)}` });
    expect(await save(4)).toBe(false);
    expect(await save(3)).toBe(true);
    expect((await store.load("raced"))?.version).toBe(3);
  });

  test("lists what an owner has, latest change first, page by page", async () => {
    const store = await open();
    for (const [i, id] of ["b", "a", "c", "d"].entries()) {
      const [changedAt, group] = [i < 2 ? 5 : i, i === 3 ? "other" : "g"];
      await store.save(recordOf(id, { changedAt, group, state: "done", phase: "over" }));
    }
    await store.save(recordOf("theirs", { owner: "you" }));
    const first = await store.list({ owner: "me", limit: 3 });
    expect([first.total, first.records.map(({ id }) => id)]).toEqual([4, ["a", "b", "d"]]);
    const rest = await store.list({ owner: "me", limit: 3, after: { changedAt: 3, id: "d" } });
    expect([rest.total, rest.records.map(({ id }) => id)]).toEqual([4, ["c"]]);
    const count = async (query: object) =>
      (await store.list({ owner: "me", limit: 9, ...query })).total;
    expect(await count({ group: "other" })).toBe(1);
    expect(await count({ state: "done" })).toBe(4);
    expect(await count({ state: "working" })).toBe(0);
    expect(await count({ changedSince: 3 })).toBe(3);
    expect(await count({ owner: "you" })).toBe(1);
  });
}

/** The additional requirements for stores that processes share. */
export function sharedStoreContract(open: () => Promise<WorkStore>): void {
  test("gives the records that have changed since", async () => {
    const store = await open();
    for (const id of ["one", "two", "three"]) await store.save(recordOf(id));
    await store.save(recordOf("two", { version: 2, state: "done" }));
    const known = new Map([
      ["one", 1],
      ["two", 1],
      ["three", 0],
      ["missing", 0],
    ]);
    const found = await store.changed?.(known);
    expect(found?.map(({ id, version }) => `${id} ${version}`).sort()).toEqual([
      "three 1",
      "two 2",
    ]);
  });
}
