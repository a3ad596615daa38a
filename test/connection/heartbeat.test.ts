import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { Heartbeat } from "../../src/connection/heartbeat.ts";

function watch(options: { pingMs?: number; deadMs?: number } = {}) {
  const clock = new FakeClock();
  const events: string[] = [];
  const heartbeat = new Heartbeat(
    { ...options, clock },
    () => events.push(`asked at ${clock.now()}`),
    () => events.push(`gave up at ${clock.now()}`),
  );
  return { clock, events, heartbeat };
}

describe("a heartbeat", () => {
  test("pings after silence, and gives up without an answer", () => {
    const { clock, events } = watch();
    clock.advance(29_999);
    expect(events).toEqual([]);
    clock.advance(100_000);
    expect(events).toEqual(["asked at 30000", "gave up at 40000"]);
    expect(clock.waiting).toBe(0);
  });

  test("never gives up on a peer that sends, and rarely pings", () => {
    const { clock, events, heartbeat } = watch({ pingMs: 100, deadMs: 150 });
    for (let i = 0; i < 50; i++) {
      clock.advance(50);
      heartbeat.received = true;
    }
    // The first check cannot tell when within its interval the sign of life arrived.
    expect(events).toEqual(["asked at 100"]);
  });

  test("continues when the question was answered", () => {
    const { clock, events, heartbeat } = watch({ pingMs: 100, deadMs: 150 });
    clock.advance(100);
    heartbeat.received = true;
    clock.advance(120);
    heartbeat.received = true;
    clock.advance(120);
    expect(events.length).toBeGreaterThan(1);
    expect(events.every((event) => event.startsWith("asked"))).toBe(true);
  });

  test("gives up also on a wire that was active before", () => {
    const { clock, events, heartbeat } = watch({ pingMs: 100, deadMs: 150 });
    clock.advance(90);
    heartbeat.received = true;
    clock.advance(1_000);
    expect(events).toHaveLength(2);
    expect(events[1]).toMatch(/^gave up/);
  });

  test("can be stopped", () => {
    const { clock, events, heartbeat } = watch();
    heartbeat.stop();
    clock.advance(100_000);
    expect(events).toEqual([]);
    expect(clock.waiting).toBe(0);
  });

  test("always pings before it gives up", () => {
    const { clock, events } = watch({ pingMs: 100, deadMs: 50 });
    clock.advance(1_000);
    expect(events).toEqual(["asked at 100", "gave up at 101"]);
  });
});
