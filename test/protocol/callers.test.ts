import { traceContextOf, traceIdOf } from "callwire/observability";
import { describe, expect, test } from "vitest";
import { isLocal } from "../../src/protocol/access.ts";
import { networkOf } from "../../src/protocol/network.ts";
import { Shares } from "../../src/protocol/shares.ts";

describe("the network of an address", () => {
  test.each([
    ["10.1.2.3", "10.1.2.3"],
    ["::ffff:10.1.2.3", "10.1.2.3"],
    ["::FFFF:10.1.2.3", "10.1.2.3"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:0DB8:0001:0000:3:4:5:6", "2001:db8:1:0"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["2001:db8::2:3:4:5:6", "2001:db8:0:2"],
    ["::1", "0:0:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
    ["1::", "1:0:0:0"],
  ])("%s is in %s", (address, network) => {
    expect(networkOf(address)).toBe(network);
    expect(networkOf("192.0.2.1")).toBe("192.0.2.1");
    expect(networkOf(address)).toBe(network);
  });
});

describe("a caller on this machine", () => {
  const at = (kind: string, remoteAddress?: string, headers = {}) =>
    isLocal({ kind, remoteAddress, headers } as never);

  test("uses a wire that stays here, or a loopback address", () => {
    for (const kind of ["stdio", "unix", "worker", "memory"]) expect(at(kind)).toBe(true);
    for (const address of ["127.0.0.1", "127.255.1.2", "::ffff:127.0.0.1", "::1"]) {
      expect(at("http", address)).toBe(true);
    }
    for (const address of ["10.0.0.1", "1127.0.0.1", "127.0.0.1.evil", "::2", "x::1", undefined]) {
      expect(at("http", address)).toBe(false);
    }
  });

  test.each([
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
  ])("is not one behind a proxy that sends %s", (header) => {
    expect(at("http", "127.0.0.1", { [header]: "" })).toBe(false);
  });
});

describe("trace contexts", () => {
  const id = "0af7651916cd43dd8448eb211c80319c";
  const parent = `00-${id}-b7ad6b7169203331-01`;

  test.each([
    [parent, id],
    [`01-${id}-b7ad6b7169203331-01-more`, id],
    [`01-${id}-b7ad6b7169203331-01-${"x".repeat(200)}`, id],
    [`01-${id}-b7ad6b7169203331-01-${"x".repeat(201)}`, undefined],
    [`${parent}-more`, undefined],
    [`ff-${id}-b7ad6b7169203331-01`, undefined],
    [parent.slice(0, -1), undefined],
    [parent.toUpperCase(), undefined],
    [`00-${"0".repeat(32)}-b7ad6b7169203331-01`, undefined],
    [`00-${id}-${"0".repeat(16)}-01`, undefined],
    [`${parent}x`, undefined],
    [`x${parent}`, undefined],
  ])("%s has the trace id %s", (traceparent, trace) => {
    expect(traceIdOf(traceparent)).toBe(trace);
  });

  const of = (request: object, transport: object = {}) =>
    traceContextOf(
      { jsonrpc: "2.0", method: "m", ...request } as never,
      { kind: "http", headers: {}, ...transport } as never,
    );
  const other = parent.replace("0af7", "1af7");

  test("come from the envelope, then from _meta, then from headers", () => {
    const headers = { traceparent: parent, tracestate: "a=1" };
    expect(of({ traceparent: other }, { headers })).toMatchObject({ traceparent: other });
    expect(of({ params: { _meta: { traceparent: other } } }, { headers })?.traceparent).toBe(other);
    for (const params of [
      undefined,
      null,
      [1],
      {},
      { _meta: null },
      { _meta: "x" },
      { _meta: {} },
    ]) {
      expect(of({ params }, { headers })).toMatchObject(headers);
    }
    expect(of({}, { kind: "websocket", headers })).toBeUndefined();
    expect(of({}, {})).toBeUndefined();
    expect(of({ traceparent: "wrong" }, { headers })).toBeUndefined();
    expect(of({ traceparent: 1 })).toBeUndefined();
  });

  test("are passed on without what is too long or not a string", () => {
    const fits = { tracestate: "s".repeat(1024), baggage: "b".repeat(8192) };
    expect(of({ traceparent: parent, ...fits })).toEqual({ traceparent: parent, ...fits });
    const long = { tracestate: "s".repeat(1025), baggage: "b".repeat(8193) };
    const left = { traceparent: parent, tracestate: undefined, baggage: undefined };
    expect(of({ traceparent: parent, ...long })).toEqual(left);
    expect(of({ traceparent: parent, tracestate: 1, baggage: {} })).toEqual(left);
  });
});

describe("shares", () => {
  test("a caller with a hundred calls may have twice as many as are left", () => {
    const shares = new Shares();
    for (let i = 0; i < 99; i++) shares.enter("a");
    expect(shares.isUsedUp("a", 0, 1e9)).toBe(false);
    shares.enter("b");
    const last = shares.enter("a");
    expect(last).toMatchObject({ caller: "a", calls: 100 });
    expect(shares.isUsedUp("a", 49, 1e9)).toBe(true);
    expect(shares.isUsedUp("a", 50, 1e9)).toBe(false);
    expect(shares.isUsedUp("b", 0, 1e9)).toBe(false);
    expect(shares.isUsedUp("stranger", 0, 0)).toBe(false);
    shares.leave(last, 0);
    expect(shares.isUsedUp("a", 0, 1e9)).toBe(false);
  });

  test("a caller may hold twice the memory that is left, and a mebibyte always", () => {
    const shares = new Shares();
    const share = shares.enter("a");
    share.bytes = 1024 * 1024;
    expect(shares.isUsedUp("a", 1e3, 0)).toBe(false);
    share.bytes = 1024 * 1024 + 2;
    expect(shares.isUsedUp("a", 1e3, 512 * 1024)).toBe(true);
    expect(shares.isUsedUp("a", 1e3, 512 * 1024 + 1)).toBe(false);
    shares.leave(share, 2);
    expect(shares.isUsedUp("a", 1e3, 0)).toBe(false);
  });

  test("callers without calls are forgotten when there are more than a thousand", () => {
    const shares = new Shares();
    const first = shares.enter("0");
    for (let i = 1; i < 1_000; i++) shares.enter(`${i}`);
    shares.leave(first, 0);
    expect(shares.enter("0")).toBe(first);
    const last = shares.enter("1000");
    shares.leave(last, 0);
    expect(shares.enter("1000")).not.toBe(last);
    expect(shares.enter("1000")).toMatchObject({ calls: 2 });
    shares.leave(first, 0);
    expect(shares.enter("0")).not.toBe(first);
  });
});
