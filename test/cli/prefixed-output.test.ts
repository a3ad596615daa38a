import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { prefixedOutput } from "../../src/cli/gateway/prefixed-output.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function output() {
  const written: string[] = [];
  const say = prefixedOutput("tool", (bytes) => written.push(Buffer.from(bytes).toString()));
  return { written, say: (text: string) => say(Buffer.from(text)) };
}

test("a line that arrives in pieces is passed on whole", () => {
  const { written, say } = output();
  say("first\nsec");
  expect(written).toEqual(["[tool] first\n"]);
  vi.advanceTimersByTime(199);
  say("ond\n\nno");
  vi.advanceTimersByTime(199);
  say(" end");
  expect(written).toEqual(["[tool] first\n", "[tool] second\n[tool] \n"]);
});

test("a line that does not end is passed on after a while", () => {
  const { written, say } = output();
  say("no end");
  vi.advanceTimersByTime(199);
  expect(written).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(written).toEqual(["[tool] no end\n"]);
});

test("a line that does not end is passed on once it is long", () => {
  const { written, say } = output();
  say("x".repeat(8_192));
  expect(written).toEqual([]);
  say("x");
  expect(written).toEqual([`[tool] ${"x".repeat(8_193)}\n`]);
});
