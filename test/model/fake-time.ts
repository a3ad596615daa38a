import { FakeClock } from "callwire/testing";

/** Runs with a clock that only the test moves, also for code that uses the timers of the runtime. */
export async function withFakeTime(run: (clock: FakeClock) => Promise<void>): Promise<void> {
  const clock = new FakeClock();
  const { setTimeout, clearTimeout } = globalThis;
  const { now } = performance;
  const fakeTimeout = (callback: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
    Object.assign(
      clock.after(ms, () => callback(...given)),
      { unref() {} },
    );
  globalThis.setTimeout = fakeTimeout as never;
  globalThis.clearTimeout = ((timer?: { cancel(): void }) => timer?.cancel()) as never;
  performance.now = () => clock.elapsed();
  try {
    await run(clock);
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
    performance.now = now;
  }
}
