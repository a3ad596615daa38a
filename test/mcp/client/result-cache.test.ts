import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { Listing } from "../../../src/mcp/client/listing.ts";
import { ResultCache } from "../../../src/mcp/client/result-cache.ts";

test("256 results are kept, and the oldest makes room for the next", () => {
  const cache = new ResultCache(new FakeClock());
  const keep = (uri: number) =>
    cache.keep("resources/read", { uri }, { uri, ttlMs: 1 }, cache.changes);
  const has = (uri: number) => cache.get("resources/read", { uri }) !== undefined;
  for (let uri = 0; uri < 256; uri++) keep(uri);
  // Stored again, it is the newest.
  keep(0);
  expect([has(0), has(1)]).toEqual([true, true]);
  keep(256);
  expect([has(0), has(1), has(2), has(256)]).toEqual([true, false, true, true]);
});

test("at most 16 MiB of results are kept", () => {
  const cache = new ResultCache(new FakeClock());
  const keep = (uri: number, mebibytes: number) => {
    const result = { text: "x".repeat(mebibytes * 1024 * 1024), ttlMs: 1 };
    cache.keep("resources/read", { uri }, result, cache.changes);
  };
  const kept = () =>
    [0, 1, 2, 3].filter((uri) => cache.get("resources/read", { uri }) !== undefined);
  keep(0, 7);
  keep(1, 7);
  expect(kept()).toEqual([0, 1]);
  keep(2, 7);
  expect(kept()).toEqual([1, 2]);
  keep(3, 17);
  expect(kept()).toEqual([1, 2]);
});

test("a list that is longer than 32 MiB on all its pages is not read to its end", async () => {
  let pages = 0;
  const text = "x".repeat(9 * 1024 * 1024);
  const listing = new Listing(async function* () {
    for (; pages < 100; pages++) yield [text];
  });
  await expect(listing.all()).rejects.toMatchObject({ code: "TOO_LARGE" });
  expect(pages).toBe(3);
});
