import { EventEmitter } from "node:events";
import { type Log, silentLog } from "callwire";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { ConnectionCounts } from "../../src/streams/connection-counts.ts";

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string | undefined;

  constructor(remoteAddress: string | undefined) {
    super();
    this.remoteAddress = remoteAddress;
  }
}

type Limits = ConstructorParameters<typeof ConnectionCounts>[0];

function countsWith(limits: Limits, log = silentLog, clock = new FakeClock()): ConnectionCounts {
  return new ConnectionCounts(limits, log, clock);
}

function taker(limits: Limits) {
  const counts = countsWith(limits);
  return (address: string | undefined): FakeSocket | undefined => {
    const socket = new FakeSocket(address);
    return counts.take(socket) ? socket : undefined;
  };
}

test("one address cannot take all connections", () => {
  const take = taker({ maxConnections: 3, maxConnectionsPerAddress: 2 });
  const first = take("10.0.0.1");
  expect(take("10.0.0.1")).toBeDefined();
  expect(take("10.0.0.1")).toBeUndefined();
  expect(take("10.0.0.2")).toBeDefined();
  expect(take("10.0.0.3")).toBeUndefined();
  first?.emit("close");
  expect(take("10.0.0.1")).toBeDefined();
});

test("a refused connection is not counted, and its end frees no place", () => {
  const counts = countsWith({ maxConnections: 1 });
  counts.take(new FakeSocket("10.0.0.1"));
  const refused = new FakeSocket("10.0.0.2");
  expect(counts.take(refused)).toBe(false);
  refused.emit("close");
  expect(counts.take(new FakeSocket("10.0.0.3"))).toBe(false);
});

test("an IPv6 network counts as one address, and an IPv4 address in both notations too", () => {
  const take = taker({ maxConnectionsPerAddress: 1 });
  expect(take("2001:db8::1")).toBeDefined();
  expect(take("2001:db8::2")).toBeUndefined();
  expect(take("2001:db8:0:1::1")).toBeDefined();
  expect(take("::ffff:10.0.0.1")).toBeDefined();
  expect(take("10.0.0.1")).toBeUndefined();
});

test("unix sockets have no address to count by", () => {
  const take = taker({ maxConnections: 2, maxConnectionsPerAddress: 1 });
  expect(take(undefined)).toBeDefined();
  expect(take(undefined)).toBeDefined();
  expect(take(undefined)).toBeUndefined();
});

test("an address may have half of the connections by default, and small limits are not divided", () => {
  const take = taker({ maxConnections: 400 });
  const taken = Array.from({ length: 400 }, () => take("10.0.0.1"));
  expect(taken.filter((socket) => socket !== undefined)).toHaveLength(200);
  const few = taker({ maxConnections: 2 });
  expect([few("10.0.0.1"), few("10.0.0.1")]).not.toContain(undefined);
});

test("limits that are not numbers of at least 1 are refused", () => {
  expect(() => countsWith({ maxConnections: 0 })).toThrow("maxConnections");
  expect(() => countsWith({ maxConnectionsPerAddress: Number.NaN })).toThrow(
    "maxConnectionsPerAddress",
  );
});

test("dropped connections are logged once a minute, with their number", () => {
  const lines: object[] = [];
  const log: Log = { ...silentLog, warn: (fields, message) => lines.push({ ...fields, message }) };
  const clock = new FakeClock();
  const counts = countsWith({ maxConnections: 1 }, log, clock);
  const message = "too many connections; dropped one";
  for (let i = 0; i < 1_000; i++) counts.take(new FakeSocket("10.0.0.1"));
  expect(lines).toEqual([{ message, unlogged: 0 }]);
  clock.advance(60_000);
  counts.take(new FakeSocket("10.0.0.1"));
  expect(lines).toEqual([
    { message, unlogged: 0 },
    { message, unlogged: 998 },
  ]);
});
