import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";

test("time stands still until it is moved", () => {
  const clock = new FakeClock(1_000);
  expect(clock.now()).toBe(1_000);
  clock.advance(250);
  expect(clock.now()).toBe(1_250);
});

test("the time of day can be set, which takes no time and runs no timer", () => {
  const clock = new FakeClock(1_000);
  let ran = false;
  clock.after(100, () => {
    ran = true;
  });
  clock.advance(50);
  clock.setTime(9_000_000);
  expect([clock.now(), clock.elapsed(), ran]).toEqual([9_000_000, 50, false]);
  clock.setTime(0);
  clock.advance(50);
  expect([clock.now(), clock.elapsed(), ran]).toEqual([50, 100, true]);
});

test("a timer runs when its time has come, once, and sees that time", () => {
  const clock = new FakeClock();
  const seen: number[] = [];
  clock.after(100, () => seen.push(clock.now()));
  clock.advance(99);
  expect(seen).toEqual([]);
  clock.advance(1);
  clock.advance(1_000);
  expect(seen).toEqual([100]);
});

test("timers run in the order of their times, and of their making where these are equal", () => {
  const clock = new FakeClock();
  const order: string[] = [];
  clock.after(30, () => order.push("late"));
  clock.after(10, () => order.push("first"));
  clock.after(10, () => order.push("second"));
  clock.advance(30);
  expect(order).toEqual(["first", "second", "late"]);
});

test("a timer that another one sets runs within the same step", () => {
  const clock = new FakeClock();
  const seen: number[] = [];
  clock.after(10, () => clock.after(10, () => seen.push(clock.now())));
  clock.after(25, () => seen.push(clock.now()));
  clock.advance(30);
  expect(seen).toEqual([20, 25]);
  expect(clock.now()).toBe(30);
});

test("a cancelled timer does not run", () => {
  const clock = new FakeClock();
  const timer = clock.after(10, () => expect.unreachable());
  expect(clock.waiting).toBe(1);
  timer.cancel();
  expect(clock.waiting).toBe(0);
  clock.advance(10);
});

test("a delay that is too long for setTimeout is none, as it would be there", () => {
  const clock = new FakeClock();
  let ran = 0;
  clock.after(2 ** 31, () => ran++);
  clock.after(2 ** 31 - 1, () => expect.unreachable());
  clock.advance(1);
  expect(ran).toBe(1);
});
