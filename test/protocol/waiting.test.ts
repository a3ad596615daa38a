import { getEventListeners } from "node:events";
import { Origin } from "callwire";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { checkTimeout, timeUntil } from "../../src/protocol/clock.ts";
import { deadlineOf } from "../../src/protocol/deadline.ts";
import { ItemQueue } from "../../src/protocol/item-queue.ts";
import { Running, type TimedCall } from "../../src/protocol/running.ts";
import { ServerRunning } from "../../src/protocol/server-running.ts";
import { Shares } from "../../src/protocol/shares.ts";
import { UploadSender } from "../../src/protocol/upload-sender.ts";
import { LateError, pause, settledOrTimeout, withTimeout } from "../../src/protocol/waiting.ts";

describe("waiting", () => {
  test("a pause ends after its delay, or with its signal, and leaves no timer", async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const first = pause(10, clock, signal);
    expect(clock.waiting).toBe(1);
    clock.advance(10);
    await first;
    const controller = new AbortController();
    const second = pause(10, clock, controller.signal);
    controller.abort();
    await second;
    expect(clock.waiting).toBe(0);
    await pause(10, clock, controller.signal);
    expect(clock.waiting).toBe(0);
  });

  test("a pause that is over leaves nothing on its signal", async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const waiting = pause(10, clock, signal);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    clock.advance(10);
    await waiting;
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("a very long pause is not over at once", () => {
    const clock = new FakeClock();
    void pause(Number.MAX_SAFE_INTEGER, clock);
    clock.advance(1_000);
    expect(clock.waiting).toBe(1);
  });

  test("a promise has a time limit, and no timer remains after it", async () => {
    const clock = new FakeClock();
    expect(await withTimeout(clock, 10, Promise.resolve(5), "late")).toBe(5);
    await expect(withTimeout(clock, 10, Promise.reject(new Error("no")), "late")).rejects.toThrow(
      "no",
    );
    await Promise.resolve();
    expect(clock.waiting).toBe(0);
    const late = withTimeout(clock, 10, new Promise(() => {}), "it was late");
    clock.advance(10);
    const error = await late.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LateError);
    expect(error).toMatchObject({ name: "LateError", message: "it was late" });
  });

  test("what settles first ends a wait", async () => {
    const clock = new FakeClock();
    await settledOrTimeout(clock, 10, Promise.resolve());
    expect(clock.waiting).toBe(0);
    const late = settledOrTimeout(clock, 10, new Promise(() => {}));
    clock.advance(10);
    await late;
  });

  test("the time until a moment is not negative", () => {
    const clock = new FakeClock(1_000);
    expect(timeUntil(clock, 1_500)).toBe(500);
    expect(timeUntil(clock, 500)).toBe(0);
  });

  test("a deadline moves only when the clock is set", () => {
    const clock = new FakeClock(1_000);
    const call = { dueAt: 500 as number | undefined, epochOffset: undefined };
    expect(deadlineOf(call, clock)).toBe(1_500);
    clock.setTime(1_049);
    expect(deadlineOf(call, clock)).toBe(1_500);
    clock.setTime(1_050);
    expect(deadlineOf(call, clock)).toBe(1_550);
    expect(deadlineOf({ dueAt: undefined, epochOffset: undefined }, clock)).toBeUndefined();
  });

  test("a time limit is a number of at least 0", () => {
    for (const ms of [undefined, 0, 1, Number.POSITIVE_INFINITY]) checkTimeout(ms);
    for (const ms of [-1, Number.NaN, "5", null]) {
      expect(() => checkTimeout(ms as never)).toThrow(
        `timeoutMs must be a number of at least 0, not ${ms}`,
      );
    }
  });
});

describe("running calls", () => {
  /** Records the delays of timers, and whether they keep the process alive. */
  class WatchedClock extends FakeClock {
    readonly set: [number, boolean | undefined][] = [];
    override after(delayMs: number, run: () => void, holds?: boolean) {
      this.set.push([delayMs, holds]);
      return super.after(delayMs, run);
    }
  }
  class Call implements TimedCall {
    dueAt: number | undefined;
    next: TimedCall | undefined;
    prev: TimedCall | undefined;
    expired = 0;
    readonly #running: Running;

    constructor(running: Running) {
      this.#running = running;
    }

    expire(): void {
      this.expired++;
      this.#running.leave(this);
    }
  }

  function callOn(running: Running, timeoutMs?: number): Call {
    const call = new Call(running);
    running.enter(call, timeoutMs);
    return call;
  }

  test("expire a tick after their time, never before", () => {
    const clock = new WatchedClock();
    const running = new Running(clock);
    const short = callOn(running, 100);
    const long = callOn(running, 1_000);
    const endless = callOn(running);
    expect([running.size, running.list()]).toEqual([3, [short, long, endless]]);
    clock.advance(109);
    expect(short.expired).toBe(0);
    clock.advance(21);
    expect([short.expired, long.expired]).toEqual([1, 0]);
    clock.advance(900);
    expect([long.expired, endless.expired, running.size]).toEqual([1, 0, 1]);
  });

  test("share one timer, which sleeps while no call arrives", () => {
    const clock = new WatchedClock();
    const running = new Running(clock, true);
    const calls = [callOn(running, 1_000), callOn(running, 2_000)];
    expect(clock.waiting).toBe(1);
    clock.advance(20);
    expect(clock.set).toEqual([
      [10, true],
      [10, true],
      [990, true],
    ]);
    for (const call of calls) running.leave(call);
    // It would keep the process alive.
    expect(clock.waiting).toBe(0);
    callOn(new Running(clock));
    clock.advance(20);
    expect(clock.waiting).toBe(0);
  });
});

describe("the calls of a server", () => {
  const call = (): TimedCall => ({
    dueAt: undefined,
    next: undefined,
    prev: undefined,
    expire() {},
  });
  const limits = { maxRunning: 3, maxRunningBytes: 1_000, maxWireBytes: 1 };

  test("have room while there are fewer than the most, and memory is left", () => {
    const running = new ServerRunning(new FakeClock(), limits);
    const origin = new Origin();
    const calls = [call(), call(), call()];
    for (const each of calls) {
      expect(running.hasRoomFor(origin, false)).toBe(true);
      running.enter(each, undefined);
    }
    expect([running.hasRoomFor(origin, false), running.hasRoomFor(origin, true)]).toEqual([
      false,
      false,
    ]);
    running.leave(calls[0] as TimedCall);
    running.held.bytes = 999;
    expect(running.hasRoomFor(origin, false)).toBe(true);
    running.held.bytes = 1_000;
    // A call whose memory was counted runs anyway.
    expect([running.hasRoomFor(origin, false), running.hasRoomFor(origin, true)]).toEqual([
      false,
      true,
    ]);
    running.release(undefined, 600);
    expect([running.held.bytes, running.hasRoomFor(origin, false)]).toEqual([400, true]);
    expect(new ServerRunning(new FakeClock()).hasRoomFor(origin, false)).toBe(true);
  });

  test("leave a third of the room to others than the caller that has most", () => {
    const ofServer = { ...limits, maxRunning: 300 };
    const running = new ServerRunning(new FakeClock(), ofServer, new Shares());
    const at = (remoteAddress: string) => new Origin({ kind: "tcp", headers: {}, remoteAddress });
    const [origin, other] = [at("10.0.0.1"), at("10.0.0.2")];
    for (let i = 0; i <= 200; i++) {
      expect(running.hasRoomFor(origin, false)).toBe(true);
      running.enter(call(), undefined);
      expect(running.share(origin)).toMatchObject({ calls: i + 1 });
    }
    expect([running.hasRoomFor(origin, false), running.hasRoomFor(other, false)]).toEqual([
      false,
      true,
    ]);
    expect(new ServerRunning(new FakeClock()).share(origin)).toBeUndefined();
  });

  test("are awaited until the last has left", async () => {
    const running = new ServerRunning(new FakeClock(), limits);
    await running.idle();
    const calls = [call(), call()];
    for (const each of calls) running.enter(each, undefined);
    let idle = 0;
    const waits = [running.idle(), running.idle()].map((each) => each.then(() => idle++));
    running.leave(calls[0] as TimedCall);
    await Promise.resolve();
    expect(idle).toBe(0);
    running.leave(calls[1] as TimedCall);
    await Promise.all(waits);
    expect(idle).toBe(2);
  });
});

describe("the items of an upload", () => {
  function sending(source: AsyncIterable<unknown> | Iterable<unknown>) {
    const events: unknown[] = [];
    const waits: boolean[] = [];
    const sender = new UploadSender(source, {
      members: (value) => ({ value }),
      fail: (thrown) => void events.push(["failed", thrown]),
      waitsForSource: (isWaiting) => void waits.push(isWaiting),
    });
    let full: Promise<void> | undefined;
    const sink = {
      item: ({ value }: { value: unknown }) => void events.push(value),
      done: () => void events.push("done"),
      ready: () => full,
    };
    const fill = (room: Promise<void> | undefined): void => {
      full = room;
    };
    return { events, waits, sender, fill, grant: (count: number) => sender.grant(count, sink) };
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  test("go out in order as there is credit for them, read one after the other", async () => {
    let open = 0;
    let most = 0;
    const source = (async function* () {
      for (let n = 0; n < 5; n++) {
        most = Math.max(most, ++open);
        await turn();
        open--;
        yield n;
      }
    })();
    const { events, waits, sender, grant } = sending(source);
    expect(sender.begun).toBe(false);
    grant(1);
    grant(1);
    expect(sender.begun).toBe(true);
    for (let i = 0; i < 6; i++) await turn();
    expect([events, waits.at(-1)]).toEqual([[0, 1], false]);
    grant(10);
    for (let i = 0; i < 9; i++) await turn();
    expect([events, most]).toEqual([[0, 1, 2, 3, 4, "done"], 1]);
    grant(1);
    await turn();
    expect(events.at(-1)).toBe("done");
    expect(events).toHaveLength(6);
  });

  test("wait for the wire, and stop with their call", async () => {
    let left = 0;
    const source = {
      *[Symbol.iterator]() {
        try {
          for (let n = 0; ; n++) yield n;
        } finally {
          left++;
        }
      },
    };
    const { events, sender, fill, grant } = sending(source);
    let open = (): void => {};
    fill(
      new Promise((resolve) => {
        open = resolve;
      }),
    );
    grant(3);
    await turn();
    expect(events).toEqual([]);
    fill(undefined);
    open();
    await turn();
    expect(events).toEqual([0, 1, 2]);
    sender.stop();
    sender.stop();
    grant(3);
    await turn();
    expect([events, left]).toEqual([[0, 1, 2], 1]);
  });

  test("that cannot be read fail their call, once it is not over", async () => {
    const thrown = new Error("no more");
    const failing = (): AsyncIterable<unknown> => ({
      [Symbol.asyncIterator]: () => ({ next: () => turn().then(() => Promise.reject(thrown)) }),
    });
    const first = sending(failing());
    first.grant(1);
    for (let i = 0; i < 3; i++) await turn();
    expect([first.events, first.waits]).toEqual([[["failed", thrown]], [true, false]]);
    const stopped = sending(failing());
    stopped.grant(1);
    stopped.sender.stop();
    for (let i = 0; i < 3; i++) await turn();
    expect(stopped.events).toEqual([]);
  });
});

describe("the items of a stream", () => {
  test("wait in order, and the queue asks for more with each half window", async () => {
    const queue = new ItemQueue();
    const given: number[] = [];
    const give = (count: number) => void given.push(count);
    for (let n = 0; n < 63; n++) expect(queue.push(n, give)).toBeUndefined();
    const full = queue.push(63, give);
    expect(full).toBeInstanceOf(Promise);
    expect([queue.size, queue.empty]).toEqual([64, false]);
    for (let n = 0; n < 31; n++) expect(queue.take()).toBe(n);
    await full;
    expect(given).toEqual([64]);
    expect(queue.take()).toBe(31);
    expect(given).toEqual([64, 32]);
    for (let n = 32; n < 64; n++) expect(queue.take()).toBe(n);
    expect([given, queue.empty]).toEqual([[64, 32, 32], true]);
  });

  test("of another connection need new credit, and the reader learns where they begin", () => {
    const queue = new ItemQueue();
    const given: string[] = [];
    void queue.push(1, (count) => void given.push(`first ${count}`));
    const report = () => {};
    queue.restart(report);
    void queue.push(2, (count) => void given.push(`second ${count}`));
    expect([queue.take(), queue.take(), queue.take()]).toEqual([1, report, 2]);
    expect(given).toEqual(["first 64", "second 64"]);
  });

  test("wake their reader, as does the end; after it nothing is taken", async () => {
    const queue = new ItemQueue();
    const arrival = queue.arrival();
    void queue.push("a", () => {});
    await arrival;
    queue.take();
    const end = queue.arrival();
    queue.end();
    await end;
    expect(queue.ended).toBe(true);
    void queue.push("b", () => {});
    expect(queue.size).toBe(0);
  });

  test("stay in order in a queue that is never empty", () => {
    const queue = new ItemQueue();
    void queue.push(0, () => {});
    for (let n = 1; n < 3_000; n++) {
      void queue.push(n, () => {});
      expect(queue.take()).toBe(n - 1);
    }
    expect(queue.size).toBe(1);
  });
});

test("the last of several calls still times out", () => {
  const clock = new FakeClock();
  const running = new Running(clock);
  const expired: string[] = [];
  const enter = (name: string): TimedCall => {
    const call = { expire: () => void expired.push(name) } as unknown as TimedCall;
    running.enter(call, 60_000);
    return call;
  };
  const first = enter("first");
  const last = enter("last");
  // Until only the timer for their deadline is left.
  clock.advance(10_000);
  running.leave(first);
  clock.advance(60_000);
  expect(expired).toEqual(["last"]);
  running.leave(last);
  expect(clock.waiting).toBe(0);
});
