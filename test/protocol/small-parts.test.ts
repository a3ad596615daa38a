import {
  type Context,
  compose,
  defineErrors,
  type ErrorObject,
  type Handle,
  Host,
  type LinkState,
  type Middleware,
  Origin,
  silentLog,
  success,
} from "callwire";
import { FakeClock } from "callwire/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { ChangingStates } from "../../src/connection/link-states.ts";
import { base64, base64Url, fromBase64 } from "../../src/protocol/base64.ts";
import { BriefMap } from "../../src/protocol/brief-map.ts";
import { descriptorSchema } from "../../src/protocol/byte-schemas.ts";
import { hasEnded, whenEnded } from "../../src/protocol/call-end.ts";
import {
  composeAdmission,
  composeDisclosure,
  isRefusal,
  visibility,
} from "../../src/protocol/handle.ts";
import { itemMembers } from "../../src/protocol/item-members.ts";
import { MessageLimits } from "../../src/protocol/limits.ts";
import { LinkedList } from "../../src/protocol/linked-list.ts";
import {
  changeHeld,
  HeldBytes,
  heapBytes,
  holdBytes,
  WireBuffers,
} from "../../src/protocol/memory-bounds.ts";
import { noTypes, type Request } from "../../src/protocol/message.ts";
import { SharedRefusal } from "../../src/protocol/parse.ts";
import { RareWarning } from "../../src/protocol/rare-warning.ts";
import { valueText } from "../../src/protocol/reply-text.ts";
import { idText, isPlain, requestText } from "../../src/protocol/serialize.ts";
import { SessionReports } from "../../src/protocol/session-reports.ts";
import { detachRequest } from "../../src/protocol/string-copy.ts";
import { stringHash } from "../../src/protocol/string-hash.ts";
import { absoluteAddress, fetchAddress, httpUrl, isRelative } from "../../src/protocol/url.ts";
import { ValueCodec } from "../../src/protocol/value-codec.ts";

describe("addresses", () => {
  test("are relative if they start with a slash or a dot", () => {
    for (const address of ["/rpc", "./rpc", "../rpc"]) expect(isRelative(address)).toBe(true);
    for (const address of ["rpc", "http://a.example", ""]) expect(isRelative(address)).toBe(false);
  });

  test("count from the base, or else from the page", () => {
    expect(absoluteAddress("ws://a.example/rpc", undefined)).toBe("ws://a.example/rpc");
    expect(absoluteAddress("/rpc", "http://a.example/x")).toBe("http://a.example/rpc");
    expect(() => absoluteAddress("/rpc?token=1", undefined)).toThrow(
      /^the address must be absolute .*, not \/rpc$/,
    );
    Reflect.set(globalThis, "location", { href: "http://page.example/a/b" });
    onTestFinished(() => void Reflect.deleteProperty(globalThis, "location"));
    expect(absoluteAddress("./rpc", undefined)).toBe("http://page.example/a/rpc");
    expect(absoluteAddress("/rpc", "http://a.example/x")).toBe("http://a.example/rpc");
  });

  const wrong = (shown: string) => new RegExp(`^the address must be http.*, not ${shown}$`);
  test("of fetch are relative or of HTTP", () => {
    for (const address of ["/rpc", "http://a.example", "HTTPS://a.example", "rpc"]) {
      expect(fetchAddress(address)).toBe(address);
    }
    expect(() => fetchAddress("ws://a.example")).toThrow(wrong("ws://a.example"));
  });

  test("of HTTP are shown without secrets if they are wrong", () => {
    expect(httpUrl("https://a.example/rpc").href).toBe("https://a.example/rpc");
    expect(() => httpUrl("")).toThrow(wrong('""'));
    expect(() => httpUrl("ftp://me:pw@a.example/x?token=1#y")).toThrow(wrong("ftp://a.example/x"));
    expect(() => httpUrl("http://me@a.example/")).toThrow(
      "put credentials into headers, not into the URL",
    );
  });
});

test("bytes are written as base64 in both alphabets, and read in the usual one", () => {
  const bytes = new Uint8Array([251, 255, 254, 0]);
  expect(base64(bytes)).toBe("+//+AA==");
  expect(base64(new Uint8Array(0))).toBe("");
  expect(base64Url(bytes)).toBe("-__-AA");
  expect(fromBase64("+//+AA==")).toEqual(bytes);
  for (const text of ["-__-AA", "a", "é"]) expect(() => fromBase64(text)).toThrow();
  const many = Buffer.from(Uint8Array.from({ length: 20_000 }, (_, i) => i));
  expect(base64(many)).toBe(many.toString("base64"));
  expect(many.equals(fromBase64(base64(many)))).toBe(true);
});

test("a list has its members in order, and each leaves once", () => {
  const of = (name: string) => ({ name, prev: undefined, next: undefined }) as never;
  const list = new LinkedList<never>();
  const [a, b, c] = [of("a"), of("b"), of("c")];
  for (const member of [a, b, c]) list.add(member);
  expect([list.size, list.list()]).toEqual([3, [a, b, c]]);
  expect([list.remove(b), list.remove(b), list.remove(of("stranger"))]).toEqual([
    true,
    false,
    false,
  ]);
  expect([list.size, list.list(), list.first]).toEqual([2, [a, c], a]);
  expect(list.remove(c)).toBe(true);
  list.add(b);
  expect(list.list()).toEqual([a, b]);
  expect([list.remove(a), list.remove(b), list.size, list.first]).toEqual([
    true,
    true,
    0,
    undefined,
  ]);
});

test("a request is written with its members in the usual order", () => {
  const call = { jsonrpc: "2.0", method: "m", params: undefined, id: undefined } as const;
  const traced = { traceparent: "p", tracestate: "s", baggage: "b" };
  const written: [object, string][] = [
    [call, '"method":"m"'],
    [{ ...call, method: 'a"b\n', id: 'c"' }, '"method":"a\\"b\\n","id":"c\\""'],
    [{ ...call, params: [1], id: 7 }, '"method":"m","params":[1],"id":7'],
    [{ ...call, params: {}, id: null }, '"method":"m","params":{},"id":null'],
    [{ ...call, timeoutMs: 5 }, '"method":"m","timeoutMs":5'],
    [{ ...call, traceparent: "p" }, '"method":"m","traceparent":"p"'],
    [{ ...call, ...traced }, '"method":"m","traceparent":"p","tracestate":"s","baggage":"b"'],
    [{ ...call, tracestate: "s", baggage: "b" }, '"method":"m"'],
    [{ ...call, types: noTypes, upload: true }, '"method":"m","upload":true,"types":{}'],
    [{ ...call, types: { date: ["/0"] } }, '"method":"m","types":{"date":["/0"]}'],
  ];
  for (const [request, members] of written) {
    expect(requestText(request as Request)).toBe(`{"jsonrpc":"2.0",${members}}`);
  }
  const old = { ...call, jsonrpc: undefined } as never as Request;
  expect(requestText(old)).toBe('{"method":"m","params":[],"id":null}');
  expect(requestText({ ...old, params: ["a"], id: "x" })).toBe(
    '{"method":"m","params":["a"],"id":"x"}',
  );
});

test("strings are written as JSON writes them, however long they are", () => {
  const odd = ["", '"', "\\", "\u001f", "\u007f", "~", "é", "\ud800", " !#[]^"];
  for (const text of [...odd, ...odd.map((each) => `${"x".repeat(64)}${each}`)]) {
    expect(valueText(text)).toBe(JSON.stringify(text));
    expect(idText(text)).toBe(JSON.stringify(text));
  }
  expect([isPlain("x".repeat(64)), isPlain("x".repeat(65))]).toEqual([true, false]);
  const values = [0, -0, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, null, [undefined], { a: 1 }];
  for (const value of values) expect(valueText(value)).toBe(JSON.stringify(value));
  expect([valueText(undefined), valueText(() => {})]).toEqual(["null", "null"]);
  expect([idText(1e21), idText(-0), idText(null)]).toEqual(["1e+21", "0", "null"]);
});

describe("middleware", () => {
  const innermost = Object.assign((() => success("in")) as Handle, { watchers: [() => ({})] });
  const order: string[] = [];
  const named = (name: string, more: Partial<Middleware> = {}): Middleware =>
    Object.assign(
      (next: Handle): Handle =>
        (request, context) => {
          order.push(name);
          return next(request, context);
        },
      more,
    );

  test("is called in its order, and what watches is kept", () => {
    const watch = () => ({});
    const plain = compose([named("a"), named("b")], innermost);
    expect(plain).not.toHaveProperty("watchers");
    const watched = compose([named("a", { watch }), named("b")], innermost);
    expect(watched.watchers).toEqual([watch, innermost.watchers[0]]);
    expect(compose([named("a", { watch })], () => success(1)).watchers).toEqual([watch]);
    order.length = 0;
    expect([plain, watched].map((handle) => handle({} as never, {} as never))).toEqual([
      success("in"),
      success("in"),
    ]);
    expect(order).toEqual(["a", "b", "a", "b"]);
  });

  test("decides about connections, errors and methods with all its rules", () => {
    expect([composeAdmission([named("a")]), composeDisclosure([named("a")])]).toEqual([
      undefined,
      undefined,
    ]);
    const admit: Middleware["admit"] = (next) => (transport) =>
      transport.kind === "tcp" ? { code: 1, message: "no" } : next(transport);
    const who: Middleware["admit"] = (next) => (transport) => next(transport) ?? { id: "ann" };
    const admission = composeAdmission([named("a", { admit: who }), named("b", { admit })]);
    expect(admission?.({ kind: "tcp" } as never)).toEqual({ code: 1, message: "no" });
    expect(admission?.({ kind: "ws" } as never)).toEqual({ id: "ann" });
    const marking = (mark: string) => (error: ErrorObject) => ({
      ...error,
      message: error.message + mark,
    });
    const disclose = composeDisclosure([
      named("a", { disclose: marking("a") }),
      named("b", { disclose: marking("b") }),
    ]);
    expect(disclose?.({ code: 1, message: "" } as never, {} as never).message).toBe("ba");
    const visible = (wrong: string) => (method: string) => method !== wrong;
    const rule = visibility([
      named("a", { visible: visible("x") }),
      named("b"),
      named("c", { visible: visible("y") }),
    ]);
    expect(["x", "y", "z"].map((method) => rule(method, {} as never))).toEqual([
      false,
      false,
      true,
    ]);
    expect([
      isRefusal(undefined),
      isRefusal({ id: "a" }),
      isRefusal({ code: 1, message: "" }),
    ]).toEqual([...[false, false, true]]);
  });

  test("that fails to decide about a connection refuses it, and that is logged", async () => {
    const lines: unknown[] = [];
    const note = (...line: unknown[]) => void lines.push(line);
    const log = { ...silentLog, debug: note, error: note };
    const transport = { kind: "ws", headers: {}, remoteAddress: "10.0.0.1" };
    const refusal = { code: 1, message: "no" };
    const decide = async (verdict: () => unknown) => {
      const use = [named("a", { admit: () => verdict as never })];
      return new Host(innermost, { log }, use).admit?.(transport);
    };
    expect(await decide(() => ({ id: "ann" }))).toEqual({ id: "ann" });
    expect(await decide(async () => undefined)).toBeUndefined();
    expect(lines).toEqual([]);
    expect(await decide(() => refusal)).toBe(refusal);
    expect(await decide(async () => ({ ...refusal, reason: "secret" }))).toMatchObject(refusal);
    const failed = { code: -32603, message: "Internal error", status: 500 };
    const thrown = new Error("no");
    expect(await decide(() => Promise.reject(thrown))).toEqual(failed);
    expect(
      await decide(() => {
        throw thrown;
      }),
    ).toEqual(failed);
    const refused = { transport: "ws", address: "10.0.0.1" };
    const check = [{ err: thrown }, "the check of a new connection failed"];
    expect(lines).toEqual([
      [{ ...refused, reason: "no" }, "connection refused"],
      [{ ...refused, reason: "secret" }, "connection refused"],
      check,
      check,
    ]);
    expect(new Host(innermost).admit).toBeUndefined();
  });
});

test("a codec of its own takes five thousand rich values", () => {
  const codec = new ValueCodec();
  const json = Array(5_001).fill("1");
  const paths = json.map((_, i) => `/${i}`);
  expect(codec.decode(json, { bigint: paths.slice(1) })).toEqual(["1", ...Array(5_000).fill(1n)]);
  expect(() => codec.decode(json, { bigint: paths })).toThrow("more than 5000 values have types");
});

test("a host has its middleware, if there is any", () => {
  const use: Middleware[] = [(next) => next];
  expect(new Host(() => undefined, {}, use).use).toBe(use);
  expect(new Host(() => undefined).use).toEqual([]);
});

test("notifications carry no Blobs", () => {
  const codec = new ValueCodec();
  expect(itemMembers(codec, 5)).toEqual({ value: 5 });
  expect(itemMembers(codec, [5n])).toEqual({ value: ["5"], types: { bigint: ["/0"] } });
  expect(() => itemMembers(codec, new Blob(["x"]))).toThrow(
    "a Blob or a stream cannot be sent here",
  );
});

test("a peer that cannot be called back says so, and is always ready", async () => {
  const { peer } = new Origin();
  const unsupported = { code: "UNSUPPORTED", message: /^this wire cannot call back/ };
  const request = { jsonrpc: "2.0", method: "m", id: 1 } as Request;
  const sent = [peer.call("m"), peer.send(request, {} as never)];
  const all = [...sent, ...(peer.sendBatch?.([request, request], []) ?? [])];
  expect(all).toHaveLength(4);
  for (const each of all) {
    await expect(each).rejects.toMatchObject({ code: unsupported.code });
    await expect(each).rejects.toThrow(unsupported.message);
  }
  expect([peer.notify("m"), peer.ready(), peer.canNotify]).toEqual([false, undefined, false]);
  await peer.close();
});

test("a map of brief entries has them in order, each once", () => {
  const map = new BriefMap<string, object>();
  const [one, two, three] = [{ n: 1 }, { n: 2 }, { n: 3 }];
  map.set("a", one);
  map.set("b", two);
  map.set("a", three);
  expect([map.size, map.get("a"), map.get("c")]).toEqual([2, three, undefined]);
  expect(map.list()).toEqual([
    ["a", three],
    ["b", two],
  ]);
  expect([map.take("a"), map.take("a"), map.size, map.get("a")]).toEqual([
    three,
    undefined,
    1,
    undefined,
  ]);
});

test("an event that anyone can cause is logged once a minute, with the number of omitted lines", () => {
  const clock = new FakeClock();
  const lines: unknown[] = [];
  const log = { ...silentLog, warn: (...line: unknown[]) => void lines.push(line) };
  const warning = new RareWarning(log, clock, "it happened");
  warning.warn({ host: "a" });
  warning.warn({ host: "b" });
  clock.advance(59_999);
  warning.warn();
  clock.advance(1);
  warning.warn({ host: "c" });
  clock.advance(60_000);
  warning.warn();
  expect(lines).toEqual([
    [{ host: "a", unlogged: 0 }, "it happened"],
    [{ host: "c", unlogged: 2 }, "it happened"],
    [{ unlogged: 0 }, "it happened"],
  ]);
});

test("methods with their own limits decide which messages have to be checked", () => {
  const limits = new MessageLimits(
    1_000,
    new Map([
      ["long", 5_000],
      ["short", 200],
    ]),
  );
  expect(limits).toMatchObject({ least: 200, usual: 1_000, greatest: 5_000 });
  expect(["long", "short", "other"].map((name) => limits.of(name))).toEqual([5_000, 200, 1_000]);
  expect(new MessageLimits(1_000, new Map())).toMatchObject({ least: 1_000, greatest: 1_000 });
  expect(() => new MessageLimits(1_000, new Map([["m", 0]]))).toThrow(
    "limits.maxMessageBytes of m must be a number of at least 1, not 0",
  );
});

test("each origin has a number of its own, as soon as it is asked for", () => {
  const [first, second] = [new Origin(), new Origin()];
  const { serial } = second;
  expect([second.serial, first.serial]).toEqual([serial, serial + 1]);
});

test("sessions are reported with their duration to all observers, if there are any", () => {
  const clock = new FakeClock();
  const seen: unknown[] = [];
  const observing = (sessionEnded: NonNullable<Middleware["sessionEnded"]>): Middleware =>
    Object.assign((next: Handle) => next, { sessionEnded });
  const failing = observing(() => {
    throw new Error("no meter");
  });
  const reports = new SessionReports(clock, [
    (next) => next,
    failing,
    observing((session) => void seen.push(session)),
  ]);
  clock.advance(100);
  const since = reports.begin() as number;
  clock.advance(50);
  const session = { protocol: "mcp", side: "server", labels: {} } as never;
  reports.ended(since, session);
  expect(seen).toEqual([{ protocol: "mcp", side: "server", labels: {}, durationMs: 50 }]);
  expect(new SessionReports(clock, [(next) => next]).begin()).toBeUndefined();
});

describe("memory of calls", () => {
  test("is estimated from the marks of JSON, and at first from its length", () => {
    expect(heapBytes("")).toBe(0);
    expect(heapBytes('[1,{"a":2}]')).toBe(11 * 2 + 4 * 64);
    expect(heapBytes('"}];+-.Z|\\"')).toBe(11 * 2);
    const server = new HeldBytes(2 * 480);
    const text = "0123456789";
    // Below half of the limit, the length alone counts.
    expect([holdBytes(text, server), server.bytes]).toEqual([480, 480]);
    expect([holdBytes(text, server), server.bytes]).toEqual([20, 500]);
    const [free, connection] = [new HeldBytes(1e9), new HeldBytes(900)];
    expect(holdBytes(text, free, connection)).toBe(20);
    expect([free.bytes, connection.bytes]).toEqual([20, 20]);
  });

  test("is high above half of the limit, and those that wait learn when it no longer is", () => {
    const held = new HeldBytes(100);
    let woken = 0;
    const wake = () => void woken++;
    held.watch(wake);
    held.bytes = 80;
    held.free(29);
    expect([held.bytes, held.isHigh, woken]).toEqual([51, true, 0]);
    held.free(1);
    expect([held.bytes, held.isHigh, woken]).toEqual([50, false, 1]);
    expect([held.isHighWith(0), held.isHighWith(1)]).toEqual([false, true]);
    held.forget(wake);
    held.free(50);
    expect(woken).toBe(1);
  });

  test("that is held in addition to the message counts for the server and its connection", () => {
    const [server, connection] = [new HeldBytes(100), new HeldBytes(50)];
    expect(changeHeld(49, server, connection)).toBe(true);
    expect(changeHeld(1, server, connection)).toBe(false);
    expect([server.bytes, connection.bytes]).toEqual([50, 50]);
    expect(changeHeld(-50, server, connection)).toBe(true);
    expect([server.bytes, connection.bytes]).toEqual([0, 0]);
    expect([changeHeld(99, server), changeHeld(1, server)]).toEqual([true, false]);
    expect([changeHeld(-1, server), server.bytes]).toEqual([true, 99]);
  });
});

test("connections that buffer most are closed if all together buffer too much", () => {
  const buffers = new WireBuffers(800);
  const shed: string[] = [];
  const of = (name: string, bufferedBytes: number) => {
    const connection = { bufferedBytes, shed: () => void shed.push(name) };
    buffers.opened(connection);
    return connection;
  };
  const [a, b, c] = [of("a", 100), of("b", 400), of("c", 300)];
  buffers.moved(101);
  expect(shed).toEqual([]);
  a.bufferedBytes = 101;
  // Measured again only when another eighth has moved.
  buffers.moved(100);
  expect(shed).toEqual([]);
  buffers.moved(1);
  expect(shed).toEqual(["b"]);
  buffers.closed(b);
  [a.bufferedBytes, c.bufferedBytes] = [900, 850];
  buffers.moved(101);
  expect(shed).toEqual(["b", "a", "c"]);
});

test("a batch has a status if all its entries were refused with the same one", () => {
  const busy = { code: 1, message: "busy", status: 503 };
  const refusal = new SharedRefusal();
  expect(refusal.of(1)).toBeUndefined();
  refusal.add(busy);
  refusal.add({ code: 2, message: "other", status: 503 });
  refusal.add({ code: 1, message: "other", status: 429 });
  refusal.add({ code: 1, message: "none" });
  expect([refusal.of(1), refusal.of(2)]).toEqual([busy, undefined]);
  refusal.add(busy);
  expect(refusal.of(2)).toBe(busy);
});

test("strings have the hashes of FNV-1a", () => {
  const hashes = ["", "a", "foobar"].map(stringHash);
  expect(hashes).toEqual([0x811c9dc5, 0xe40c292c, 0xbf9cf968]);
});

test("a request that is detached from its message is the same", () => {
  for (const id of ["short", "a long identifier", 'a "quoted" identifier', 12, 123456789012345]) {
    const request = { jsonrpc: "2.0", method: "a method with a long name", id } as const;
    const detached = { ...request };
    expect(detachRequest(detached, JSON.stringify(id))).toBe(JSON.stringify(id));
    expect(detached).toEqual(request);
  }
  expect(detachRequest({ jsonrpc: "2.0", method: "a" }, undefined)).toBeUndefined();
});

test("what counts for a part of a peer counts for the whole", () => {
  const limits = { maxInFlight: 2, maxStreams: 1 };
  const whole = new Origin();
  const part = new Origin(undefined, undefined, limits, whole);
  part.count(1, 1);
  expect([whole.inFlight, whole.openStreams]).toEqual([1, 1]);
  part.count(-1, -1);
  expect([whole.inFlight, whole.openStreams]).toEqual([0, 0]);
});

test("the end of a call whose context is wrapped is that of its signal", () => {
  const controller = new AbortController();
  const context = { signal: controller.signal } as Context;
  let ended = 0;
  whenEnded(context, () => ended++);
  expect([hasEnded(context), ended]).toEqual([false, 0]);
  controller.abort();
  expect([hasEnded(context), ended]).toEqual([true, 1]);
});

test("definitions of errors are what they were", () => {
  const errors = { NOT_FOUND: { code: 1404 } };
  expect(defineErrors(errors)).toBe(errors);
});

test("a listener that throws does not affect other listeners, and is logged", () => {
  const logged: unknown[] = [];
  const error = (fields: object, message: string) => void logged.push([fields, message]);
  const states = new ChangingStates({ ...silentLog, error });
  const thrown = new Error("no");
  const seen: LinkState[] = [];
  states.listen(() => {
    throw thrown;
  });
  const leave = states.listen((state) => seen.push(state));
  states.set("open");
  leave();
  states.set("closed");
  expect(seen).toEqual(["open"]);
  expect(logged).toEqual([
    [{ err: thrown }, "an onState listener threw"],
    [{ err: thrown }, "an onState listener threw"],
  ]);
});

test("files and blobs in a message have a size, streams need none", () => {
  const data = { type: "string", contentEncoding: "base64" };
  const properties = { data, part: { type: "integer", minimum: 1 } };
  const about = { size: { type: "integer", minimum: 0 }, type: { type: "string" } };
  const file = { name: { type: "string" }, lastModified: { type: "number" } };
  expect(descriptorSchema("file")).toEqual({
    type: "object",
    properties: { ...properties, ...about, ...file },
    required: ["size"],
    "x-callwire-type": "file",
  });
  expect(descriptorSchema("blob")).toEqual({
    type: "object",
    properties: { ...properties, ...about },
    required: ["size"],
    "x-callwire-type": "blob",
  });
  expect(descriptorSchema("stream")).toEqual({
    type: "object",
    properties,
    "x-callwire-type": "stream",
  });
});
