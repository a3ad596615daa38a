/** Sessions that were opened and never used take little memory, and no room from others. */
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { SessionTable } from "../../../src/mcp/server/http/session-table.ts";
import { keptCapabilities, keptInfo } from "../../../src/mcp/server/legacy.ts";
import type { Session } from "../../../src/mcp/server/session.ts";

function table(options: { max?: number; idleMs?: number } = {}) {
  const clock = new FakeClock();
  const ended: Session[] = [];
  const sessions = new SessionTable(clock, options, (session) => ended.push(session));
  const open = (owner: string): Session => {
    const session = sessions.make(undefined, owner);
    sessions.add(session);
    return session;
  };
  const used = (owner: string): Session => {
    const session = open(owner);
    sessions.use(session.id, undefined);
    return session;
  };
  return { clock, ended, sessions, open, used };
}

test("a flood of initialize leaves a thousand sessions, for a minute", () => {
  const { clock, sessions, open, used } = table();
  used("honest");
  for (let i = 0; i < 10_000; i++) open("attacker");
  expect(sessions.size).toBe(1_001);
  clock.advance(60_001);
  expect(sessions.size).toBe(1);
});

test("a session that was used once lives as long as the option says", () => {
  const { clock, sessions, used } = table();
  used("honest");
  clock.advance(1_799_000);
  expect(sessions.size).toBe(1);
  clock.advance(2_000);
  expect(sessions.size).toBe(0);
});

test("a flood ends its own sessions, not one of another caller that has just begun", () => {
  const { sessions, open } = table();
  const honest = open("honest");
  for (let i = 0; i < 10_000; i++) open("attacker");
  expect(sessions.use(honest.id, undefined)).toBe(honest);
});

describe("where there is no room", () => {
  test("those that were never used go first", () => {
    const { sessions, open, used } = table({ max: 3 });
    const old = used("a");
    const unused = open("a");
    used("a");
    open("a");
    expect(sessions.use(unused.id, undefined)).toBeUndefined();
    expect(sessions.use(old.id, undefined)).toBe(old);
  });

  test("those in use stay, and new ones have no room", () => {
    const { ended, sessions, used } = table({ max: 2 });
    for (const session of [used("a"), used("a")]) session.running++;
    expect(sessions.hasRoom).toBe(false);
    expect(ended).toEqual([]);
  });
});

test("of a long greeting only what matters to a server is kept", () => {
  const long = "x".repeat(30_000);
  const elicitation = { form: { hint: long }, url: {} };
  const declared = { sampling: { tools: {} }, elicitation, experimental: { long: { long } } };
  expect(keptCapabilities(declared)).toEqual({
    sampling: { tools: {} },
    elicitation: { form: {}, url: {} },
  });
  const icons = [{ src: long }];
  expect(keptInfo({ name: long, version: "1", icons })).toEqual({
    name: "x".repeat(128),
    version: "1",
  });
});

test("an initialize of the usual length is stored completely", () => {
  const info = { name: "test", version: "1", icons: [{ src: "data:," }], own: 1 };
  expect(keptInfo(info)).toBe(info);
  const declared = { experimental: { own: { a: 1 } } };
  expect(keptCapabilities(declared)).toBe(declared);
});

test("one machine with many addresses of IPv6 has one share of the sessions", () => {
  const { ended, open, used } = table({ max: 4 });
  used("2001:db8::1");
  used("2001:db8::2");
  used("2001:db8::3");
  used("192.0.2.1");
  open("192.0.2.1");
  expect(ended.map(({ owner }) => owner)).toEqual(["2001:db8:0:0"]);
});
