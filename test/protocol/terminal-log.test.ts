import { inspect } from "node:util";
import { consoleLog } from "callwire";
import { afterEach, expect, test, vi } from "vitest";

const { isTTY } = process.stderr;

afterEach(() => {
  process.stderr.isTTY = isTTY;
  vi.restoreAllMocks();
});

test("errors of callers and servers cannot control a terminal", () => {
  process.stderr.isTTY = true;
  const written: string[] = [];
  vi.spyOn(console, "warn").mockImplementation((...parts: unknown[]) => {
    written.push(parts.map((part) => inspect(part)).join(" "));
  });
  const hostile = "\u001b]0;title\u0007\u009b31m\u202e";
  const circle = new Error(hostile);
  circle.cause = circle;
  for (const err of [new TypeError(hostile, { cause: new Error(hostile) }), circle]) {
    consoleLog.warn({ err, method: hostile }, "a call failed");
  }
  expect(written).toHaveLength(2);
  expect(written[0]).toContain("TypeError: \\u001b]0;title");
  for (const text of written) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not pass
    expect(text).not.toMatch(/[\u0007\u001b\u0080-\u009f\u202e]/);
  }
});
