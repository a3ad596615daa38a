/** How long `callwire mcp` waits for a server, which is not the time of the person whom it asks. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Patience } from "../../src/cli/mcp/patience.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("it is over when the server was not heard for so long", () => {
  const patience = new Patience(1_000);
  vi.advanceTimersByTime(999);
  patience.restart();
  vi.advanceTimersByTime(999);
  expect(patience.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(patience.signal.aborted).toBe(true);
});

test("the time of a person is not that of the server", async () => {
  const patience = new Patience(1_000);
  let answer: (said: string) => void = () => {};
  const asked = patience.during(
    () =>
      new Promise<string>((resolve) => {
        answer = resolve;
      }),
  );
  vi.advanceTimersByTime(60_000);
  // What the server says meanwhile does not change that.
  patience.restart();
  vi.advanceTimersByTime(60_000);
  expect(patience.signal.aborted).toBe(false);
  answer("accept");
  expect(await asked).toBe("accept");
  vi.advanceTimersByTime(1_000);
  expect(patience.signal.aborted).toBe(true);
});
