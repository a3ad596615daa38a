/** How long a server that is told to stop waits, and for what. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { drained, drainMsOf, waitingFor } from "../../src/cli/draining.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

type Hosts = Parameters<typeof drained>[0];

/** A host that is closed when the test says so, with calls and streams that run. */
function host(calls: number, streams: number) {
  const ended: unknown[] = [];
  const running = [
    ...Array.from({ length: calls }, () => ({ dueAt: 1 })),
    ...Array.from({ length: streams }, () => ({
      dueAt: undefined,
      end: (error: unknown) => ended.push(error),
    })),
  ];
  let close: () => void = () => {};
  let drainMs: number | undefined;
  const hosts = [
    {
      running: { size: running.length, list: () => running },
      close: (options: { drainMs: number }) => {
        drainMs = options.drainMs;
        return new Promise<void>((resolve) => {
          close = resolve;
        });
      },
    },
  ] as unknown as Hosts;
  return { hosts, ended, close: () => close(), drainMs: () => drainMs };
}

test("calls have ten seconds, and streams beside them are ended after one", async () => {
  const { hosts, ended, close, drainMs } = host(1, 2);
  expect(waitingFor(hosts)).toMatch(/waiting up to 10 s for 1 call, ending 2 streams in 1 s\./);
  const over = drained(hosts);
  expect(drainMs()).toBe(10_000);
  vi.advanceTimersByTime(999);
  expect(ended).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(ended).toMatchObject([{ code: -32006 }, { code: -32006 }]);
  close();
  await over;
});

test("streams alone do not have the time of calls", async () => {
  const { hosts, close, drainMs } = host(0, 1);
  expect(waitingFor(hosts)).toMatch(/^Stopping; ending 1 stream in 1 s\./);
  const over = drained(hosts);
  expect(drainMs()).toBe(1_000);
  close();
  await over;
  expect(vi.getTimerCount()).toBe(0);
});

// A handler that ignored its signal kept the process for ten seconds more.
test("after the end of stdin, calls have what its own calls left of ten seconds", () => {
  const { hosts } = host(1, 0);
  const endedAt = performance.now();
  expect(drainMsOf(hosts, endedAt)).toBe(10_000);
  vi.advanceTimersByTime(4_000);
  expect(drainMsOf(hosts, endedAt)).toBe(6_000);
  vi.advanceTimersByTime(6_000);
  expect(drainMsOf(hosts, endedAt)).toBe(1_000);
});

test("without running calls, it does not wait", () => {
  expect(waitingFor(host(0, 0).hosts)).toBe("Stopping.");
});
