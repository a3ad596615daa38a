/** How long `callwire mcp` waits for a server; the time of the user who is asked does not count. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { IdleTimeout } from "../../src/cli/mcp/idle-timeout.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("it ends when the server was silent for that long", () => {
  const idle = new IdleTimeout(1_000);
  vi.advanceTimersByTime(999);
  idle.restart();
  vi.advanceTimersByTime(999);
  expect(idle.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(idle.signal.aborted).toBe(true);
});

test("the time of a person is not that of the server", async () => {
  const idle = new IdleTimeout(1_000);
  let answer: (said: string) => void = () => {};
  const asked = idle.pausedDuring(
    () =>
      new Promise<string>((resolve) => {
        answer = resolve;
      }),
  );
  vi.advanceTimersByTime(60_000);
  // Messages of the server in the meantime do not change that.
  idle.restart();
  vi.advanceTimersByTime(60_000);
  expect(idle.signal.aborted).toBe(false);
  answer("accept");
  expect(await asked).toBe("accept");
  vi.advanceTimersByTime(1_000);
  expect(idle.signal.aborted).toBe(true);
});
