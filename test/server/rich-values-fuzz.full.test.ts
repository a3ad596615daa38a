import { createServer } from "callwire";
import { expect, test } from "vitest";

const steps = ["", "0", "1", "a", "length", "__proto__", "constructor", "~0", "~1", "-1", "01"];
const names = [
  "date",
  "bigint",
  "number",
  "undefined",
  "map",
  "set",
  "url",
  "bytes",
  "buffer",
  "x",
];
const leaves = ["1", "-0", "NaN", "", "AAAA", null, 0, true, "2026-01-01T00:00:00Z", "a:b", "null"];
const inputs = 5_000_000;

/** The same numbers in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test(`${inputs} messages with made-up types are answered, and none pollutes a prototype`, {
  timeout: 1_800_000,
}, () => {
  const server = createServer({ echo: (value: unknown) => value });
  const below = numbers(1);
  const one = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const json = (depth: number): unknown => {
    const kind = depth === 0 ? 0 : below(4);
    if (kind < 2) return one(leaves);
    const members = Array.from({ length: below(3) }, () => [one(steps), json(depth - 1)] as const);
    return kind === 2 ? members.map(([, value]) => value) : Object.fromEntries(members);
  };
  const path = (): string => Array.from({ length: below(5) }, () => `/${one(steps)}`).join("");
  const codes = new Map<unknown, number>();
  for (let i = 0; i < inputs; i++) {
    const types = Object.fromEntries(
      Array.from({ length: below(4) }, () => [
        one(names),
        below(20) === 0 ? one(leaves) : Array.from({ length: below(3) }, path),
      ]),
    );
    const request = { jsonrpc: "2.0", method: "echo", params: [json(3)], id: 1, types };
    const { error } = JSON.parse(server.receive(JSON.stringify(request)) as string);
    codes.set(error?.code, (codes.get(error?.code) ?? 0) + 1);
  }
  expect([...codes.keys()].sort()).toEqual([-32602, undefined]);
  expect(({} as { a?: unknown }).a).toBe(undefined);
  expect(Object.keys(Object.prototype)).toEqual([]);
});
