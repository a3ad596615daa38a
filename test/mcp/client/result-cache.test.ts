import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
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
