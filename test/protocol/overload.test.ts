import { createServer, Origin, type ServerOptions, silentLog } from "callwire";
import { shedLoad } from "callwire/security";
import { describe, expect, test } from "vitest";
import { Overload } from "../../src/protocol/overload.ts";
import { BusyLoop } from "./busy-loop.ts";

interface Load {
  readonly perSecond: number;
  readonly seconds: number;
  readonly costMs: number;
  /** How long other processes have the CPU for each call. */
  readonly waitMs?: number;
  /** Whether calls await something first, so that all of a turn are started before any of them works. */
  readonly awaits?: boolean;
}

/**
 * Calls arrive whether or not others were answered. In each turn, all that arrived since the last
 * one are read.
 */
function offer(overload: Overload, loop: BusyLoop, load: Load) {
  const { perSecond, seconds, costMs, waitMs = 0, awaits = false } = load;
  const startedAt = loop.now();
  const counts = { good: 0, late: 0, refused: 0 };
  const work = (sentAt: number): void => {
    loop.hold(costMs);
    loop.wait(waitMs);
    counts[loop.now() - sentAt <= 1_000 ? "good" : "late"]++;
  };
  let sent = 0;
  while (sent < perSecond * seconds) {
    loop.turn();
    const turnedAt = loop.now();
    const taken: number[] = [];
    for (;;) {
      const sentAt = startedAt + (sent * 1_000) / perSecond;
      if (sentAt > turnedAt || sent === perSecond * seconds) break;
      sent++;
      if (!overload.take()) {
        loop.hold(0.02);
        counts.refused++;
      } else if (awaits) taken.push(sentAt);
      else work(sentAt);
    }
    for (const sentAt of taken) work(sentAt);
    loop.hold(0.05);
  }
  return counts;
}

const peak = 1_000;

describe("calls that come faster than they can run", () => {
  test.each([
    ["take 1 ms each", { perSecond: 5 * peak, costMs: 1 }, peak],
    ["take 10 ms each", { perSecond: 500, costMs: 10 }, 100],
    ["are few too many", { perSecond: 1.2 * peak, costMs: 1 }, peak],
  ])(
    "are refused in part if they %s, and at least four fifths of the others are in time",
    (...args) => {
      const [, load, most] = args;
      const loop = new BusyLoop();
      const seconds = 10;
      const { good, late, refused } = offer(new Overload(loop), loop, { ...load, seconds });
      expect(good).toBeGreaterThan(0.8 * most * seconds);
      expect(late).toBeLessThan(0.1 * most * seconds);
      expect(refused).toBeGreaterThan(0);
    },
  );

  test("are refused too where they work only after something they await", () => {
    const loop = new BusyLoop();
    const overload = new Overload(loop);
    // Until the server notices it.
    offer(overload, loop, { perSecond: 5 * peak, seconds: 5, costMs: 1, awaits: true });
    const load = { perSecond: 5 * peak, seconds: 5, costMs: 1, awaits: true };
    const { good } = offer(overload, loop, load);
    expect(good).toBeGreaterThan(0.8 * peak * load.seconds);
  });

  test("are refused too, only later, in a process that gets a fifth of the CPU", () => {
    const loop = new BusyLoop();
    const overload = new Overload(loop, {}, () => loop.cpu());
    const load = { perSecond: peak, seconds: 10, costMs: 1, waitMs: 4 };
    // Until the server notices it.
    offer(overload, loop, load);
    const { good } = offer(overload, loop, load);
    expect(good).toBeGreaterThan(0.8 * 0.2 * peak * load.seconds);
  });

  test("are refused too if one turn does not end, because more arrive on other connections", () => {
    const loop = new BusyLoop();
    const overload = new Overload(loop);
    const peers = Array.from({ length: 32 }, () => ({}));
    expect(overload.take()).toBe(true);
    const calls = Array.from({ length: 10_000 }, (_, i) => {
      loop.hold(0.5);
      return overload.take(peers[Math.floor(i / 20) % 32]);
    });
    expect(calls.indexOf(false)).toBeLessThan(2_500);
  });

  test("are refused too if more callers leave while they wait than are answered", () => {
    const loop = new BusyLoop();
    const overload = new Overload(loop, {}, () => 0);
    let refused = 0;
    for (let ms = 0; ms < 2_000; ms += 20) {
      for (let call = 0; call < 8; call++) if (!overload.take()) refused++;
      for (let caller = 0; caller < 12; caller++) overload.callerLeft();
      loop.wait(20);
      loop.turn();
    }
    expect(refused).toBeGreaterThan(0);
  });

  test("are all taken again when there are fewer of them", () => {
    const loop = new BusyLoop();
    const overload = new Overload(loop);
    offer(overload, loop, { perSecond: 5 * peak, seconds: 3, costMs: 1 });
    offer(overload, loop, { perSecond: 100, seconds: 3, costMs: 1 });
    const { refused } = offer(overload, loop, { perSecond: 0.9 * peak, seconds: 3, costMs: 1 });
    expect(refused).toBe(0);
  });
});

describe("nothing is refused", () => {
  const taken = (overload: Overload, calls: number): boolean =>
    Array.from({ length: calls }, () => overload.take()).every(Boolean);

  test("while the process has as many calls as it can run", () => {
    const loop = new BusyLoop();
    const load = { perSecond: 0.95 * peak, seconds: 10, costMs: 1 };
    expect(offer(new Overload(loop), loop, load).refused).toBe(0);
  });

  test("for one handler, or one pause of the process, however long it is", () => {
    const loop = new BusyLoop();
    const overload = new Overload(loop);
    for (let i = 0; i < 5; i++) {
      expect(taken(overload, 100)).toBe(true);
      loop.hold(60_000);
      expect(taken(overload, 100)).toBe(true);
      loop.turn();
      loop.idle(50);
    }
  });

  test("for repeated pauses of the process, while few calls come at a time", () => {
    const loop = new BusyLoop();
    const overload = new Overload(loop);
    for (let i = 0; i < 50; i++) {
      expect(taken(overload, 16)).toBe(true);
      loop.hold(300);
      expect(taken(overload, 15)).toBe(true);
      loop.turn();
    }
  });

  test("for calls that take long because other processes have the CPU", () => {
    const loop = new BusyLoop();
    const overload = new Overload(loop, {}, () => loop.cpu());
    for (let i = 0; i < 100; i++) {
      expect(taken(overload, 32)).toBe(true);
      loop.hold(30);
      loop.wait(120);
      expect(taken(overload, 8)).toBe(true);
      loop.turn();
    }
  });

  test("if a few callers leave, and most are answered", () => {
    const loop = new BusyLoop();
    const overload = new Overload(loop);
    for (let i = 0; i < 200; i++) {
      expect(taken(overload, 16)).toBe(true);
      for (let caller = 0; caller < 8; caller++) overload.callerLeft();
      loop.hold(20);
      loop.turn();
    }
  });

  test("for many calls of one connection at once that take longer than callers would wait for", () => {
    const loop = new BusyLoop();
    const overload = new Overload(loop);
    const peer = {};
    expect(taken(overload, 8)).toBe(true);
    for (let i = 0; i < 10_000; i++) {
      expect(overload.take(peer)).toBe(true);
      loop.hold(0.5);
    }
    loop.turn();
    expect(taken(overload, 100)).toBe(true);
  });

  test("and no timer is set, if there are few calls or none", () => {
    const loop = new BusyLoop();
    const overload = new Overload(loop);
    expect(taken(overload, 7)).toBe(true);
    expect(loop.waiting).toBe(0);
    expect(taken(overload, 100)).toBe(true);
    expect(loop.waiting).toBe(1);
    loop.idle(100);
    expect(loop.waiting).toBe(0);
  });
});

describe("with delays of at most 100 ms", () => {
  interface Slice {
    readonly calls: number;
    /** How long this process has the CPU in the slice, and then others. */
    readonly heldMs: number;
    readonly waitMs?: number;
  }

  /** An overload that reads the clock, as after a few calls. */
  function watching() {
    const loop = new BusyLoop();
    const overload = new Overload(loop, { maxDelayMs: 100 }, () => loop.cpu());
    for (let call = 0; call < 8; call++) overload.take();
    const run = ({ calls, heldMs, waitMs = 0 }: Slice): number => {
      let ran = 0;
      for (let call = 0; call < calls; call++) if (overload.take()) ran++;
      loop.hold(heldMs);
      loop.wait(waitMs);
      loop.turn();
      return ran;
    };
    /** How many of a thousand calls may run now. */
    const room = () => run({ calls: 1_000, heldMs: 0 });
    return { loop, overload, run, room };
  }

  const after = (count: number, slice: Slice): number => {
    const { run, room } = watching();
    for (let i = 0; i < count; i++) run(slice);
    return room();
  };

  test.each<[string, number, Slice, number]>([
    ["slices are late for less than a second", 8, { calls: 32, heldMs: 121 }, 1_000],
    ["slices are late for a second", 9, { calls: 32, heldMs: 121 }, 4],
    ["slices are late for just a second", 4, { calls: 32, heldMs: 250 }, 4],
    ["slices are late for nearly a second", 4, { calls: 32, heldMs: 249 }, 1_000],
    ["slices are not late", 50, { calls: 32, heldMs: 120 }, 1_000],
    ["there are few calls", 50, { calls: 31, heldMs: 121 }, 1_000],
    ["few calls take long, which counts for 250 ms", 3, { calls: 32, heldMs: 9_000 }, 1_000],
    ["few calls take long again", 4, { calls: 32, heldMs: 9_000 }, 4],
    ["many calls take long, each of which counts for 2 ms", 2, { calls: 200, heldMs: 900 }, 1_000],
    ["many calls take long again", 3, { calls: 200, heldMs: 900 }, 4],
    ["one slice is late", 1, { calls: 1_000, heldMs: 5_000 }, 1_000],
    ["two slices are late", 2, { calls: 1_000, heldMs: 5_000 }, 4],
    [
      "calls are short, of which one and a half times as many fit",
      9,
      { calls: 1_000, heldMs: 121 },
      61,
    ],
    ["other processes have half of the time", 4, { calls: 32, heldMs: 125, waitMs: 125 }, 4],
    ["other processes have most of the time", 4, { calls: 32, heldMs: 124, waitMs: 126 }, 1_000],
    ["slices are late for others", 9, { calls: 32, heldMs: 120, waitMs: 130 }, 1_000],
  ])("when %s (%i times), %o leaves room for %i calls", (_, count, slice, room) => {
    expect(after(count, slice)).toBe(room);
  });

  test("a slice in time ends a row of late ones", () => {
    const { run, room } = watching();
    for (const heldMs of [121, 20, 121]) {
      for (let i = 0; i < (heldMs === 20 ? 1 : 8); i++) run({ calls: 32, heldMs });
    }
    expect(room()).toBe(1_000);
  });

  /** One that has just allowed four calls. */
  function limited() {
    const made = watching();
    for (let i = 0; i < 9; i++) made.run({ calls: 32, heldMs: 121 });
    return made;
  }

  test("room grows by a quarter while calls are refused in slices of 5 ms, and shrinks by a fifth", () => {
    const { run } = limited();
    const ran = (heldMs: number) => run({ calls: 100, heldMs });
    expect([5, 5, 10, 10, 11, 5].map(ran)).toEqual([4, 5, 7, 9, 12, 9]);
    // However long a slice takes.
    expect([5, 40, 1_000, 1_000, 5].map(ran)).toEqual([12, 15, 12, 9, 7]);
  });

  test("a second late slice need not end before calls are refused", () => {
    const refusedAt = (lateSlices: number) => {
      const { loop, overload, run } = watching();
      for (let i = 0; i < lateSlices; i++) run({ calls: 1_000, heldMs: 5_000 });
      for (let call = 1; call <= 100; call++) {
        if (!overload.take()) return call;
        loop.hold(10);
      }
      return undefined;
    };
    // The first call of the next stride of eight, after 32 calls.
    expect([refusedAt(0), refusedAt(1)]).toEqual([undefined, 33]);
  });

  test("all calls are taken again after a second without a refusal", () => {
    for (const [slices, room] of [
      [199, 5],
      [200, 1_000],
    ] as const) {
      const made = limited();
      made.run({ calls: 5, heldMs: 5 });
      for (let i = 0; i < slices; i++) made.run({ calls: 4, heldMs: 5 });
      expect(made.room()).toBe(room);
      // The row of late slices starts again.
      if (slices === 200) expect(made.run({ calls: 32, heldMs: 121 })).toBe(32);
      if (slices === 200) expect(made.room()).toBe(1_000);
    }
  });

  test("calls are refused before they are read if those in the queue leave no room", () => {
    const { overload, room } = limited();
    overload.queued = 3;
    expect(overload.refuses()).toBe(false);
    overload.queued = 4;
    expect(overload.refuses()).toBe(true);
    expect(room()).toBe(4);
    expect(new Overload(new BusyLoop()).refuses()).toBe(false);
  });

  test("while calls are refused, none runs that has waited for too long in a long queue", () => {
    for (const [queued, ms, runs] of [
      [32, 100, true],
      [32, 101, false],
      [31, 101, true],
    ] as const) {
      const { overload } = limited();
      overload.queued = queued;
      overload.waited(ms, overload.cpuMs());
      expect(overload.take()).toBe(runs);
    }
    const { overload } = watching();
    overload.queued = 32;
    overload.waited(101, 0);
    expect([overload.take(), overload.waitedMs]).toEqual([true, 101]);
  });

  test("slices are late too if calls wait in a long queue that this process could have worked off", () => {
    for (const [cpuMs, room] of [
      [100, 1_000],
      [101, 4],
    ] as const) {
      const made = watching();
      made.overload.queued = 32;
      for (let i = 0; i < 40; i++) {
        made.overload.waited(101, made.overload.cpuMs() - cpuMs);
        made.run({ calls: 8, heldMs: 30 });
      }
      made.overload.queued = 0;
      made.overload.waited(0, 0);
      expect(made.room()).toBe(room);
    }
  });

  test("calls are refused if a crowd of callers leaves within a second, and fewer calls run", () => {
    // One call runs in each slice.
    for (const [leave, heldMs, slices, room] of [
      [31, 40, 25, 1_000],
      [32, 40, 24, 1_000],
      [32, 40, 25, 4],
      [34, 30, 34, 1_000],
      [35, 30, 33, 1_000],
      [35, 30, 34, 4],
    ] as const) {
      const made = watching();
      for (let caller = 0; caller < leave; caller++) made.overload.callerLeft();
      for (let i = 0; i < slices; i++) made.run({ calls: 1, heldMs });
      expect([leave, heldMs, slices, made.room()]).toEqual([leave, heldMs, slices, room]);
    }
  });

  test("callers that left are counted again from zero each second", () => {
    const made = watching();
    for (let second = 0; second < 3; second++) {
      for (let caller = 0; caller < 20; caller++) made.overload.callerLeft();
      for (let i = 0; i < 40; i++) made.run({ calls: 1, heldMs: 30 });
    }
    expect(made.room()).toBe(1_000);
    made.run({ calls: 1, heldMs: 40 });
    // More leave than run, but never 32 in one slice.
    for (let i = 0; i < 26; i++) {
      made.overload.callerLeft();
      made.overload.callerLeft();
      made.run({ calls: 1, heldMs: 40 });
    }
    expect(made.room()).toBe(4);
  });

  test("messages have waited for as long as the slice is late", () => {
    const { loop, overload } = watching();
    loop.hold(130);
    for (let call = 0; call < 8; call++) overload.take();
    expect(overload.waitedMs).toBe(110);
    loop.turn();
    expect(overload.waitedMs).toBe(0);
  });

  test("CPU time that was used before slices were late does not count", () => {
    const { run, room } = watching();
    run({ calls: 8, heldMs: 60_000 });
    for (let i = 0; i < 4; i++) run({ calls: 32, heldMs: 124, waitMs: 126 });
    expect(room()).toBe(1_000);
  });
});

describe("a server", () => {
  const call = (id: number, more = "") => `{"jsonrpc":"2.0","method":"work","id":${id}${more}}`;
  const notification = '{"jsonrpc":"2.0","method":"work"}';

  /** One that gets more than it can run, and cannot accept another call in this turn. */
  function overloadedServer(options: ServerOptions = {}, kind = "tcp") {
    const loop = new BusyLoop();
    let ran = 0;
    const work = (): number => {
      loop.hold(1);
      return ++ran;
    };
    const server = createServer({ work }, { clock: loop, log: silentLog, ...options });
    const origin = new Origin({ kind, headers: {}, remoteAddress: undefined });
    for (const calls of [1_000, 3_000]) {
      for (let i = 0; i < calls; i++) void server.receive(call(i), origin);
      loop.turn();
    }
    const ranBefore = ran;
    return {
      loop,
      receive: (text: string) => server.receive(text, origin),
      direct: (text: string) => server.receive(text),
      refuses: () => String(server.receive(call(1), origin)).includes("error"),
      ranSince: () => ran - ranBefore,
    };
  }

  test("refuses a call with data that says that it did not run and when to retry", () => {
    const { receive, refuses } = overloadedServer();
    while (!refuses());
    expect(JSON.parse(String(receive(call(7))))).toEqual({
      jsonrpc: "2.0",
      error: {
        code: -32005,
        message: "Server busy",
        data: { ran: false, reason: "busy", retryAfterMs: 1000 },
      },
      id: 7,
    });
  });

  test("runs notifications, whose senders would not notice a refusal", () => {
    const { receive, refuses, ranSince } = overloadedServer();
    while (!refuses());
    const before = ranSince();
    expect(receive(notification)).toBeUndefined();
    expect(ranSince()).toBe(before + 1);
  });

  test("runs calls that are made in its own process", () => {
    const { direct, refuses } = overloadedServer();
    while (!refuses());
    expect(direct(call(1))).toContain("result");
  });

  test("does not run a call that timed out while it waited", () => {
    const { loop, receive, ranSince } = overloadedServer({ overload: { maxDelayMs: 60_000 } });
    for (let i = 0; i < 100; i++) void receive(call(i));
    loop.hold(20_000);
    for (let i = 0; i < 100; i++) void receive(call(i));
    const before = ranSince();
    expect(JSON.parse(String(receive(call(7, ',"timeoutMs":5000'))))).toEqual({
      jsonrpc: "2.0",
      error: { code: -32003, message: "Request timeout", data: { ran: false, reason: "expired" } },
      id: 7,
    });
    expect(receive(call(8, ',"timeoutMs":50000'))).toContain("result");
    expect(ranSince()).toBe(before + 1);
  });

  test("takes all calls with overload: false", () => {
    const { refuses } = overloadedServer({ overload: false });
    expect(Array.from({ length: 10_000 }, refuses)).not.toContain(true);
  });

  test("refuses them also with shedLoad alone", () => {
    const loop = new BusyLoop();
    const use = [shedLoad({ maxLagMs: 200, clock: loop })];
    const work = (): number => {
      loop.hold(1);
      return 1;
    };
    const server = createServer({ work }, { use, overload: false, log: silentLog });
    const answers = Array.from({ length: 10_000 }, (_, i) => {
      if (i === 1_000) loop.turn();
      return String(server.receive(call(i)));
    });
    expect(answers.filter((answer) => answer.includes('"ran":false')).length).toBeGreaterThan(0);
  });

  test.each([0, -1, Number.NaN, "100"])("takes no maxDelayMs of %s", (maxDelayMs) => {
    const overload = { maxDelayMs: maxDelayMs as number };
    expect(() => createServer({}, { overload })).toThrow(TypeError);
  });
});
