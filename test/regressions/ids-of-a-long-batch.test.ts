import { createServer } from "callwire";
import { expect, test } from "vitest";

/** Counts the characters that are read, since a clock could only guess. */
function charactersRead(run: () => void): number {
  const { charCodeAt } = String.prototype;
  let count = 0;
  String.prototype.charCodeAt = function (this: string, at: number) {
    count++;
    return charCodeAt.call(this, at);
  };
  try {
    run();
  } finally {
    String.prototype.charCodeAt = charCodeAt;
  }
  return count;
}

test("ids that are echoed as written are found in one walk through a batch", () => {
  const server = createServer({ count: (text: string) => text.length });
  const entry = (id: string) =>
    `{"jsonrpc": "2.0", "method": "count", "params": ["${"x".repeat(1_000)}"], "id": ${id}}`;
  const ids = Array.from({ length: 100 }, (_, i) => `${i}.5`);
  const batch = `[${ids.map(entry).join(", ")}]`;
  let answer: unknown;
  const read = charactersRead(() => {
    answer = server.receive(batch);
  });
  expect(read).toBeGreaterThan(batch.length);
  expect(read).toBeLessThan(10 * batch.length);
  const replies = ids.map((id) => `{"jsonrpc":"2.0","result":1000,"id":${id}}`);
  expect(answer).toBe(`[${replies.join(",")}]`);
});
