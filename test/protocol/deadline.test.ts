import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/protocol/clock.ts";
import { deadlineOf } from "../../src/protocol/deadline.ts";

describe("a deadline", () => {
  test("is the same whenever it is read", () => {
    // A clock whose time of day has whole milliseconds, as on a machine.
    const passing = new FakeClock(1_800_000_000_000);
    const clock = {
      ...systemClock,
      now: () => Math.floor(passing.now()),
      elapsed: () => passing.elapsed(),
    };
    const call = { dueAt: 60_000.4, epochOffset: undefined };
    const seen = new Set<number | undefined>();
    for (let i = 0; i < 1_000; i++) {
      seen.add(deadlineOf(call, clock));
      passing.advance(0.7);
    }
    expect([...seen]).toEqual([1_800_000_060_000]);
  });

  test("moves with the clock when that is set", () => {
    const clock = new FakeClock(1_000_000);
    const call = { dueAt: 500, epochOffset: undefined };
    expect(deadlineOf(call, clock)).toBe(1_000_500);
    clock.setTime(5_000_000);
    clock.advance(100);
    expect(deadlineOf(call, clock)).toBe(5_000_500);
  });

  test("is undefined if nothing ends the call", () => {
    expect(deadlineOf({ dueAt: undefined, epochOffset: undefined }, systemClock)).toBeUndefined();
  });
});
