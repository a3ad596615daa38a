import { createClient, silentLog } from "callwire";
import { Connection, reconnecting } from "callwire/connection";
import { healthChecks } from "callwire/observability";
import { memoryLimits, WebSocketTickets } from "callwire/security";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { Heartbeat } from "../../src/connection/heartbeat.ts";
import { Strikes } from "../../src/connection/incoming.ts";
import { CircuitBreaker } from "../../src/gateway/circuit-breaker.ts";
import { ResultCache } from "../../src/mcp/client/result-cache.ts";
import { SessionTable } from "../../src/mcp/server/http/session-table.ts";
import { EventLoopLag } from "../../src/observability/process-metrics.ts";
import { FallbackLimits } from "../../src/security/fallback-limits.ts";
import { HandChannel, transport } from "../connection/hand-channel.ts";
import { turn } from "../transports/contract-methods.ts";

// Limits, pauses and cached values used the time of day, which an administrator may set.

const start = 1_800_000_000_000;

describe.each([
  ["back", -3_600_000],
  ["forward", 120_000],
])("when the clock is set %s", (_, stepMs) => {
  function setUp() {
    const clock = new FakeClock(start);
    return { clock, step: () => clock.setTime(clock.now() + stepMs) };
  }

  test("a rate limit gives back what the time that passed is worth", () => {
    const { clock, step } = setUp();
    const limits = memoryLimits({ clock });
    const take = () => limits.take("ann", 1, { capacity: 2, perSecond: 1 }).allowed;
    expect([take(), take(), take()]).toEqual([true, true, false]);
    step();
    expect(take()).toBe(false);
    clock.advance(1_000);
    expect([take(), take()]).toEqual([true, false]);
  });

  test("a store of rate limits that failed is tried again after a pause", () => {
    const { clock, step } = setUp();
    let asked = 0;
    const take = () => {
      asked++;
      throw new Error("gone");
    };
    const limits = new FallbackLimits({ take }, clock);
    const call = () => limits.take("ann", 1, { capacity: 9, perSecond: 1 });
    void call();
    step();
    void call();
    expect(asked).toBe(1);
    clock.advance(1_000);
    void call();
    expect(asked).toBe(2);
  });

  test("a circuit breaker stays open for its time", () => {
    const { clock, step } = setUp();
    const breaker = new CircuitBreaker(clock, { failures: 1, coolDownMs: 1_000 });
    breaker.fail(breaker.begin());
    step();
    expect(breaker.allowsCall).toBe(false);
    clock.advance(100);
    expect(breaker.allowsCall).toBe(true);
  });

  test("a silent wire is pinged and closed in time", () => {
    const { clock, step } = setUp();
    const events: string[] = [];
    new Heartbeat(
      { pingMs: 100, deadMs: 150, clock },
      () => events.push(`asked after ${clock.elapsed()}`),
      () => events.push(`gave up after ${clock.elapsed()}`),
    );
    step();
    clock.advance(1_000);
    expect(events).toEqual(["asked after 100", "gave up after 150"]);
  });

  test("messages that could not be read are forgotten one a minute", () => {
    const { clock, step } = setUp();
    const strikes = new Strikes(3, clock);
    expect([strikes.add(), strikes.add()]).toEqual([false, false]);
    step();
    clock.advance(60_000);
    expect([strikes.add(), strikes.add()]).toEqual([false, true]);
  });

  test("the link gives up on a peer that disconnects at once", async () => {
    const { clock, step } = setUp();
    const channels: HandChannel[] = [];
    const link = reconnecting(
      async () => {
        const channel = new HandChannel();
        channels.push(channel);
        return new Connection(channel, { transport, log: silentLog });
      },
      { attempts: 2, clock, random: () => 1 },
    );
    const client = createClient(link, { clock });
    void client.notify("hello").catch(() => {});
    for (let i = 0; i < 10; i++) {
      await turn();
      step();
      channels.at(-1)?.listener.end();
      await turn();
      clock.advance(200);
    }
    expect(channels).toHaveLength(3);
    await client.close();
  });

  test("an unused MCP session expires", () => {
    const { clock, step } = setUp();
    const ended: string[] = [];
    const table = new SessionTable(clock, { idleMs: 60_000 }, ({ id }) => ended.push(id));
    const session = table.make(undefined, undefined);
    table.add(session);
    clock.advance(30_000);
    step();
    expect(table.use(session.id, undefined)).toBe(session);
    clock.advance(59_000);
    expect(ended).toEqual([]);
    clock.advance(2_000);
    expect(ended).toEqual([session.id]);
  });

  test("a result of MCP is kept for as long as its server allows", () => {
    const { clock, step } = setUp();
    const cache = new ResultCache(clock);
    cache.keep("tools/list", {}, { tools: [], ttlMs: 60_000 }, cache.changes);
    step();
    clock.advance(59_999);
    expect(cache.get("tools/list", {})).toMatchObject({ tools: [] });
    clock.advance(1);
    expect(cache.get("tools/list", {})).toBeUndefined();
  });

  test("a ticket is valid for its time", () => {
    const { clock, step } = setUp();
    const tickets = new WebSocketTickets({ clock, validMs: 30_000 });
    const verify = (ticket: string) =>
      tickets.verify({
        kind: "websocket",
        headers: { "sec-websocket-protocol": `callwire.ticket.${ticket}` },
        remoteAddress: undefined,
      });
    const [first, second] = [0, 1].map(() => tickets.issue({ principal: { id: "ann" } }));
    step();
    clock.advance(29_999);
    expect(verify(first as string)).toEqual({ id: "ann" });
    clock.advance(1);
    expect(verify(second as string)).toMatchObject({ message: "Unauthenticated" });
  });

  test("the answer of health checks holds for its time", async () => {
    const { clock, step } = setUp();
    let checks = 0;
    const health = healthChecks({ database: () => void checks++ }, { cacheMs: 1_000, clock });
    await health();
    step();
    clock.advance(999);
    await health();
    expect(checks).toBe(1);
    clock.advance(1);
    await health();
    expect(checks).toBe(2);
  });

  test("the event loop is not late for it", () => {
    const { clock, step } = setUp();
    const lag = new EventLoopLag(clock);
    lag.start();
    step();
    clock.advance(500);
    expect(lag.take()).toBe(0);
    lag.stop();
  });
});
