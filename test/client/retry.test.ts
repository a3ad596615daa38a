import {
  type ClientOptions,
  createClient,
  createServer,
  failure,
  type Reply,
  type RetryOptions,
  retry,
  silentLog,
  stream,
  success,
  WireError,
  type WireErrorCode,
} from "callwire";
import { serveSocket, tcpLink } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { startProxy } from "../transports/contract.ts";
import { turn } from "../transports/contract-methods.ts";
import { HandLink } from "./hand-link.ts";

const busy = failure({
  code: -32005,
  message: "Server busy",
  data: { ran: false, reason: "busy" },
});

/** A client whose link fails in these ways, one after the other, and then answers. */
function setUp(
  failures: readonly (Reply | Error)[],
  options: RetryOptions = {},
  more: ClientOptions = {},
) {
  const clock = new FakeClock();
  const left = [...failures];
  const link = new HandLink(() => {
    const next = left.shift();
    if (next instanceof Error) throw next;
    return next ?? success("at last");
  });
  const client = createClient(link, {
    use: [retry({ clock, random: () => 1, ...options })],
    idempotent: ["read"],
    clock,
    ...more,
  });
  return { clock, link, client };
}

function lost(code: WireErrorCode = "CONNECTION_LOST", status?: number): WireError {
  return new WireError(code, "no", status === undefined ? {} : { status });
}

/** Moves the clock from attempt to attempt and returns how long each wait was. */
async function waits(clock: FakeClock, link: HandLink): Promise<number[]> {
  const found: number[] = [];
  await turn();
  for (;;) {
    const tries = link.payloads.length;
    let waited = 0;
    while (link.payloads.length === tries && waited < 20_000) {
      clock.advance(1);
      waited++;
      await Promise.resolve();
      await turn();
    }
    if (link.payloads.length === tries) return found;
    found.push(waited);
  }
}

describe("retry", () => {
  test("repeats an idempotent call until it is answered", async () => {
    const { clock, link, client } = setUp([lost(), busy]);
    const call = client.call("read", [1]);
    await turn();
    clock.advance(100);
    await turn();
    clock.advance(200);
    expect(await call).toBe("at last");
    expect(link.methods).toEqual(["read", "read", "read"]);
    const ids = link.calls.map(({ request }) => request.id);
    expect(new Set(ids).size).toBe(3);
  });

  test("waits longer each time, up to the limit, and spreads the waits", async () => {
    const many = Array.from({ length: 5 }, () => lost());
    const full = setUp(many, { attempts: 6, delayMs: 10, maxDelayMs: 50 });
    const call = full.client.call("read");
    expect(await waits(full.clock, full.link)).toEqual([10, 20, 40, 50, 50]);
    expect(await call).toBe("at last");
    const half = setUp(many, { attempts: 6, delayMs: 10, maxDelayMs: 50, random: () => 0 });
    const other = half.client.call("read");
    expect(await waits(half.clock, half.link)).toEqual([5, 10, 20, 25, 25]);
    expect(await other).toBe("at last");
  });

  test("gives up after three tries unless told otherwise, with the last failure", async () => {
    for (const [attempts, expected] of [
      [undefined, 3],
      [1, 1],
      [5, 5],
    ] as const) {
      const many = Array.from(
        { length: 9 },
        (_, i) => new WireError("CONNECTION_LOST", `number ${i + 1}`),
      );
      const { clock, link, client } = setUp(many, attempts === undefined ? {} : { attempts });
      const outcome = expect(client.call("read")).rejects.toThrow(`number ${expected}`);
      for (let i = 0; i < 9; i++) {
        await turn();
        clock.advance(5_000);
      }
      await outcome;
      expect(link.payloads).toHaveLength(expected);
    }
  });

  test("gives up with the last reply if that was the failure", async () => {
    const { clock, client } = setUp([busy, busy], { attempts: 2 });
    const outcome = expect(client.call("read")).rejects.toMatchObject({
      name: "RpcError",
      code: -32005,
    });
    await turn();
    clock.advance(100);
    await outcome;
  });

  test.each([
    ["could not connect", lost("CONNECTION_FAILED")],
    ["found the server busy", busy],
    [
      "was over the rate limit",
      failure({
        code: -32010,
        message: "Rate limited",
        data: { ran: false, reason: "rate-limited" },
      }),
    ],
  ])("does not say that a call did not run if only its last attempt %s", async (_, last) => {
    const { clock, client } = setUp([lost(), busy, last], { attempts: 3 });
    const outcome = expect(client.call("read")).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    await turn();
    clock.advance(100);
    await turn();
    clock.advance(200);
    await outcome;
  });

  test("never repeats a call that may not run twice", async () => {
    const cutShort = failure({
      code: -32006,
      message: "Server is shutting down",
      data: { ran: true, reason: "stopping" },
    });
    for (const reason of [lost(), lost("HTTP_STATUS", 503), cutShort]) {
      const { clock, link, client } = setUp([reason]);
      await expect(client.call("write")).rejects.toBeInstanceOf(Error);
      clock.advance(60_000);
      expect(link.payloads).toHaveLength(1);
    }
    const { link, client } = setUp([lost()]);
    await expect(client.call("read", [], { idempotent: false })).rejects.toBeInstanceOf(WireError);
    expect(link.payloads).toHaveLength(1);
  });

  test("repeats whatever certainly did not run", async () => {
    for (const reason of [lost("CONNECTION_FAILED"), busy]) {
      const { clock, link, client } = setUp([reason]);
      const call = client.call("write");
      await turn();
      clock.advance(100);
      expect(await call).toBe("at last");
      expect(link.payloads).toHaveLength(2);
    }
  });

  test("waits as long as a busy server says, up to the longest wait", async () => {
    for (const [retryAfterMs, waitMs] of [
      [1_000, 1_000],
      [60_000, 5_000],
      [1, 100],
    ] as const) {
      const data = { ran: false, reason: "busy", retryAfterMs };
      const { clock, link, client } = setUp([
        failure({ code: -32005, message: "Server busy", data }),
      ]);
      const call = client.call("read");
      expect(await waits(clock, link)).toEqual([waitMs]);
      expect(await call).toBe("at last");
    }
  });

  test("matches a name without a star exactly", async () => {
    // As a program without types may write it.
    const alone = { idempotent: "pay/list" as unknown as readonly string[] };
    const { clock, link, client } = setUp([lost()], {}, alone);
    await Promise.all([
      expect(client.call("pay", [], { timeoutMs: 1000 })).rejects.toMatchObject({
        code: "CONNECTION_LOST",
      }),
      turn().then(() => clock.advance(60_000)),
    ]);
    expect(link.payloads).toHaveLength(1);
  });

  test("without an end is refused unless it was configured", () => {
    expect(() => retry({ attempts: Number.NaN })).toThrow(
      new TypeError("attempts must be a number of at least 1, not NaN"),
    );
  });

  test("repeats only what may pass", async () => {
    const passing = [
      lost(),
      lost("CONNECTION_FAILED"),
      lost("HTTP_STATUS", 502),
      lost("HTTP_STATUS", 503),
      lost("HTTP_STATUS", 504),
      busy,
      failure({
        code: -32006,
        message: "Server is shutting down",
        data: { ran: false, reason: "stopping" },
      }),
    ];
    for (const reason of passing) {
      const { clock, link, client } = setUp([reason]);
      const call = client.call("read");
      await turn();
      clock.advance(100);
      expect(await call).toBe("at last");
      expect(link.payloads).toHaveLength(2);
    }
    const lasting = [
      lost("HTTP_STATUS", 404),
      lost("HTTP_STATUS"),
      lost("BAD_REPLY"),
      lost("CLOSED"),
      lost("TOO_LARGE"),
      new TypeError("a fault of this end"),
      failure({ code: -32601, message: "Method not found" }),
      failure({ code: -32603, message: "Internal error" }),
      failure({ code: -32003, message: "Request timeout" }),
    ];
    for (const reason of lasting) {
      const { clock, link, client } = setUp([reason]);
      await expect(client.call("read")).rejects.toBeInstanceOf(Error);
      clock.advance(60_000);
      await turn();
      expect(link.payloads).toHaveLength(1);
    }
  });

  test("stops when the caller cancels during the wait", async () => {
    const { clock, link, client } = setUp([lost()], {}, { clock: new FakeClock() });
    const controller = new AbortController();
    const call = client.call("read", [], { signal: controller.signal });
    await turn();
    expect(clock.waiting).toBe(1);
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    expect(clock.waiting).toBe(0);
    await turn();
    expect(link.payloads).toHaveLength(1);
  });

  test("stops when the time of the call is up, however many tries are left", async () => {
    const many = Array.from({ length: 50 }, () => lost());
    const { clock, link, client } = setUp(many, { attempts: 50 }, { timeoutMs: 1_000 });
    const outcome = expect(client.call("read")).rejects.toMatchObject({ code: "TIMEOUT" });
    for (let i = 0; i < 30; i++) {
      await turn();
      clock.advance(50);
    }
    await outcome;
    const tries = link.payloads.length;
    expect(tries).toBeLessThan(6);
    clock.advance(60_000);
    await turn();
    expect(link.payloads).toHaveLength(tries);
  });

  test("cancels an attempt that is on its way", async () => {
    const { clock, link, client } = setUp([lost()]);
    const controller = new AbortController();
    const call = client.call("read", [], { signal: controller.signal });
    await turn();
    link.behaviour = () => undefined;
    clock.advance(100);
    await turn();
    expect(link.payloads).toHaveLength(2);
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("reports the gap when the call is sent again, if the first may have run", async () => {
    for (const [failed, told] of [
      [lost(), 1],
      [lost("CONNECTION_FAILED"), 0],
      [busy, 0],
    ] as const) {
      const { clock, link, client } = setUp([failed]);
      let gaps = 0;
      const call = client.call("read", [], { onGap: () => gaps++ });
      await turn();
      // If the gap were reported now, a caller would catch up on what it missed too early.
      clock.advance(99);
      await turn();
      expect([gaps, link.payloads.length]).toEqual([0, 1]);
      clock.advance(1);
      expect(await call).toBe("at last");
      expect(gaps).toBe(told);
    }
  });

  test("does not repeat what its caller cancels because of the gap", async () => {
    const { clock, link, client } = setUp([lost()]);
    const controller = new AbortController();
    const { signal } = controller;
    const call = client.call("read", [], { signal, onGap: () => controller.abort() });
    await turn();
    clock.advance(100);
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    await turn();
    expect(link.payloads).toHaveLength(1);
  });

  test("restarts a stream, reports the gap, and keeps giving credit", async () => {
    const many = 300;
    const numbers = stream({}, async function* () {
      for (let i = 0; i < many; i++) yield i;
    });
    const server = createServer({ numbers }, { log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const { port } = await serveSocket(server, { port: 0 });
    const proxy = await startProxy({ port: port as number });
    onTestFinished(() => proxy.close());
    const link = tcpLink({ port: proxy.port, reconnect: false });
    const client = createClient<{ numbers: typeof numbers }>(link, { use: [retry()] });
    onTestFinished(() => client.close());
    const got: (number | string)[] = [];
    const onGap = () => void got.push("gap");
    for await (const item of client.stream("numbers", undefined, { idempotent: true, onGap })) {
      if (got.push(item) === 3) proxy.cut();
    }
    const gap = got.indexOf("gap");
    const whole = Array.from({ length: many }, (_, i) => i);
    // Items that had arrived when the wire broke were still read.
    expect(got.slice(0, gap)).toEqual(whole.slice(0, gap));
    expect(got.slice(gap + 1)).toEqual(whole);
  });
});
