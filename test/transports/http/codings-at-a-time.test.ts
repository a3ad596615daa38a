import zlib, { gzipSync } from "node:zlib";
import { expect, onTestFinished, test, vi } from "vitest";
import { add, json, send, serve, sum } from "./wire.ts";

const methods = {
  add: (a: number, b: number) => a + b,
  text: (length: number) => "x".repeat(length),
};
const count = 10;

/** Holds back each call of a zlib function, so that those waiting at the same time can be counted. */
function heldBack(name: "gunzip" | "gzip") {
  const original = zlib[name] as (...given: unknown[]) => void;
  const held: (() => void)[] = [];
  const seen = { most: 0 };
  const spy = vi.spyOn(zlib, name).mockImplementation(((...given: unknown[]) => {
    held.push(() => original(...given));
    seen.most = Math.max(seen.most, held.length);
  }) as never);
  onTestFinished(() => spy.mockRestore());
  return { held, seen };
}

async function mostAtOnce(name: "gunzip" | "gzip", ask: () => Promise<unknown>): Promise<number> {
  const { held, seen } = heldBack(name);
  let isDone = false;
  const answers = Promise.all(Array.from({ length: count }, ask)).finally(() => {
    isDone = true;
  });
  await expect.poll(() => held.length).toBeGreaterThanOrEqual(4);
  while (!isDone) {
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
    held.shift()?.();
  }
  await answers;
  return seen.most;
}

test("at most four bodies are inflated at a time", async () => {
  const { port } = await serve(methods);
  const headers = { ...json, "content-encoding": "gzip" };
  const ask = async () => {
    expect((await send(port, { headers, body: gzipSync(add) })).text).toBe(sum);
  };
  expect(await mostAtOnce("gunzip", ask)).toBe(4);
});

test("at most four long replies are compressed at a time", async () => {
  const { port } = await serve(methods);
  const body = '{"jsonrpc":"2.0","method":"text","params":[300000],"id":1}';
  const headers = { ...json, "accept-encoding": "gzip" };
  const ask = async () => {
    const init = { method: "POST", headers, body };
    const response = await fetch(`http://127.0.0.1:${port}/rpc`, init);
    expect((await response.text()).length).toBeGreaterThan(300_000);
  };
  expect(await mostAtOnce("gzip", ask)).toBe(4);
});
