import { deepStrictEqual } from "node:assert";
import {
  createClient,
  createServer,
  directLink,
  ErrorCode,
  exchangeLink,
  method,
  Origin,
  type ValueType,
  WireError,
} from "callwire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { abandonCalls } from "../../src/protocol/origin-calls.ts";
import { requestCancelled } from "../../src/protocol/standard-errors.ts";
import { isFull } from "../full.ts";
import { oneOfEach, richValue } from "../rich-values.ts";

const echo = { echo: (value: unknown) => value };

function linkTo(server: { receive(text: string): unknown }) {
  return exchangeLink(async (text) => (await server.receive(text)) as string | undefined);
}

/** A client whose calls are all answered with this. */
function answeredWith(members: object) {
  const link = exchangeLink(async (text) => {
    const { id } = JSON.parse(text) as { id: number };
    return JSON.stringify({ jsonrpc: "2.0", id, ...members });
  });
  return createClient(link, { values: "rich" });
}

function refusalOf(params: unknown, types: unknown): unknown {
  const server = createServer(echo);
  const text = JSON.stringify({ jsonrpc: "2.0", method: "echo", params, id: 1, types });
  return (JSON.parse(server.receive(text) as string) as { error?: { code: number } }).error?.code;
}

describe("values that come back", () => {
  test("equal those that were sent", async () => {
    const client = createClient(linkTo(createServer(echo)), { values: "rich" });
    deepStrictEqual(await client.call("echo", [oneOfEach]), oneOfEach);
    await fc.assert(
      fc.asyncProperty(richValue, async (value) => {
        deepStrictEqual(await client.call("echo", [value]), value);
      }),
      { numRuns: isFull ? 20_000 : 500 },
    );
  });

  test("leave what the caller passed in unchanged", async () => {
    const client = createClient(linkTo(createServer(echo)), { values: "rich" });
    const at = new Date(0);
    const value = { at, list: [at, { at }] };
    await client.call("echo", [value]);
    deepStrictEqual(value, { at, list: [at, { at }] });
  });

  test("are validated as rich values", async () => {
    const params = z.object({ at: z.date(), size: z.bigint(), tags: z.set(z.string()) });
    const methods = { year: method({ params }, ({ at, size }) => BigInt(at.getFullYear()) + size) };
    const link = linkTo(createServer(methods));
    const given = { at: new Date("2026-06-01"), size: 1n, tags: new Set(["a"]) };
    expect(await createClient(link, { values: "rich" }).call("year", given)).toBe(2027n);
    const plain = { at: "2026-06-01T00:00:00.000Z", size: "1", tags: ["a"] };
    await expect(createClient(link).call("year", plain)).rejects.toMatchObject({ code: -32602 });
  });

  test("of an object with toJSON are those that it returns", async () => {
    const client = createClient(linkTo(createServer(echo)), { values: "rich" });
    const at = new Date(0);
    const value = { toJSON: (key: string) => ({ key, at }) };
    expect(await client.call("echo", [{ a: value }])).toEqual({ a: { key: "a", at } });
  });

  test("have invalid dates, and Buffers as bytes", async () => {
    const client = createClient(linkTo(createServer(echo)), { values: "rich" });
    const [date, bytes] = await client.call<[Date, Uint8Array]>("echo", [
      [new Date(Number.NaN), Buffer.from("hi")],
    ]);
    expect(date.getTime()).toBeNaN();
    deepStrictEqual(bytes, new Uint8Array([0x68, 0x69]));
  });
});

class Money {
  readonly cents: bigint;
  readonly since: Date;
  constructor(cents: bigint, since: Date) {
    this.cents = cents;
    this.since = since;
  }
}

const money: ValueType<Money> = {
  name: "money",
  test: (value): value is Money => value instanceof Money,
  toJson: ({ cents, since }) => [cents, since],
  fromJson(json) {
    const [cents, since] = json as [bigint, Date];
    if (typeof cents !== "bigint") throw new TypeError("no cents");
    return new Money(cents, since);
  },
};

describe("a type of one's own", () => {
  test("is returned as an instance of its class, with the rich values in it", async () => {
    const server = createServer(echo, { types: [money] });
    const client = createClient(linkTo(server), { values: "rich", types: [money] });
    const value = new Map([["price", new Money(499n, new Date(0))]]);
    deepStrictEqual(await client.call("echo", [value]), value);
  });

  test("that only one side knows is refused by the other", async () => {
    const value = new Money(1n, new Date(0));
    const strange = createClient(linkTo(createServer(echo)), { values: "rich", types: [money] });
    await expect(strange.call("echo", [value])).rejects.toMatchObject({ code: -32602 });
    const priced = createServer({ price: () => value }, { types: [money] });
    const naive = createClient(linkTo(priced), { values: "rich" });
    await expect(naive.call("price")).rejects.toMatchObject({ code: "BAD_REPLY" });
  });

  test("must have its own name, and a form in JSON", async () => {
    const twice = () => createServer(echo, { types: [money, money] });
    expect(twice).toThrow('there are two value types with the name "money"');
    expect(() => createServer(echo, { types: [{ ...money, name: "date" }] })).toThrow('"date"');
    const circular = { ...money, toJson: () => new Date(0) };
    const client = createClient(linkTo(createServer(echo)), { values: "rich", types: [circular] });
    await expect(client.call("echo", [new Money(1n, new Date(0))])).rejects.toThrow(
      'toJson of the value type "money" must not return a rich value',
    );
  });
});

describe("a date", () => {
  const usual = "2024-02-28T23:59:58.789Z";
  const near = [...usual].flatMap((_, at) =>
    [..."/0139:"].map((other) => usual.slice(0, at) + other + usual.slice(at + 1)),
  );
  const edges = [
    ...["2024-01-01T00:00:00.000Z", "2024-12-28T10:11:12.001Z", "2023-02-29T00:00:00.000Z"],
    ...["2024-01-00T00:00:00.000Z", "2024-00-01T00:00:00.000Z", "2024-13-01T00:00:00.000Z"],
    ...["2024-01-32T00:00:00.000Z", "2024-04-31T00:00:00.000Z", "2024-12-31T24:00:00.000Z"],
    ...["2024-12-01T24:00:00.001Z", "2024-12-01T00:60:00.000Z", "2024-12-01T00:00:60.000Z"],
    ...["0000-01-01T00:00:00.000Z", "0099-01-01T00:00:00.000Z", "0100-01-01T00:00:00.000Z"],
    ...["9999-12-28T23:59:59.999Z", "+010000-01-01T00:00:00.000Z", "-000001-01-01T00:00:00.000Z"],
    ...["2024-01-01T00:00:00Z", "2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.123456Z"],
    ...["2024-01-01T00:00:00+02:00", "2024-01-01T00:00:00.000-11:30", "2024-01-01"],
    ...["2024-01-01T00:00:00.000", "2024-01-01 00:00:00.000Z", " 2024-01-01T00:00:00.000Z", ""],
  ];
  const isIso = /^([+-]\d\d)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

  test("is what Date makes of it, if it is written as in ISO 8601 with a zone", () => {
    const server = createServer({ ms: (date: Date) => date.getTime() });
    for (const text of [usual, ...near, ...edges]) {
      const request = { jsonrpc: "2.0", method: "ms", params: [text], id: 1 };
      const reply = server.receive(JSON.stringify({ ...request, types: { date: ["/0"] } }));
      const { result, error } = JSON.parse(reply as string);
      const ms = isIso.test(text) ? Date.parse(text) : Number.NaN;
      expect([text, result ?? error.code]).toEqual([text, Number.isNaN(ms) ? -32602 : ms]);
    }
  });

  test("leaves as toISOString writes it", () => {
    const dayMs = 86_400_000;
    const times = [0, 1, 9, 10, 99, 100, 999, 59_999, 60_000, 3_599_999, 3_600_000, 36_000_000];
    const days = [0, dayMs, -dayMs, 20_000 * dayMs, -800_000 * dayMs, 3_000_000 * dayMs];
    const dates = days.flatMap((day) => times.map((time) => new Date(day + time)));
    const server = createServer({ dates: () => dates });
    const text = '{"jsonrpc":"2.0","method":"dates","id":1,"types":{}}';
    expect(JSON.parse(server.receive(text) as string).result).toEqual(
      dates.map((date) => date.toISOString()),
    );
  });
});

describe("a server refuses", () => {
  const wrong: [string, unknown, unknown][] = [
    ["a path that does not exist", ["1"], { bigint: ["/1"] }],
    ["a path through a string", ["1"], { bigint: ["/0/0"] }],
    ["the prototype of an object", [{}], { undefined: ["/0/__proto__"] }],
    [
      "its own member of that name",
      JSON.parse('[{"__proto__":"1"}]'),
      { bigint: ["/0/__proto__"] },
    ],
    ["an inherited member", [{}], { undefined: ["/0/constructor"] }],
    ["the length of an array", [[]], { undefined: ["/0/length"] }],
    ["a path without a slash", { a: "1" }, { bigint: ["a"] }],
    ["an unknown type", ["1"], { toString: ["/0"] }],
    ["paths that are not an array", ["1"], { bigint: "/0" }],
    ["a path that is not a string", ["1"], { bigint: [0] }],
    ["a date that is a number", [0], { date: ["/0"] }],
    ["a date that is a sentence", ["1 May 2026"], { date: ["/0"] }],
    ["a date that does not exist", ["2026-13-01T00:00:00Z"], { date: ["/0"] }],
    ["a bigint in an array", [["1"]], { bigint: ["/0"] }],
    ["a bigint with a fraction", ["1.5"], { bigint: ["/0"] }],
    ["a bigint of a million digits", ["1".repeat(1_000_000)], { bigint: ["/0"] }],
    ["a number that JSON can express", ["1"], { number: ["/0"] }],
    ["undefined that is not null", [0], { undefined: ["/0"] }],
    ["a map with triples", [[[1, 2, 3]]], { map: ["/0"] }],
    ["a map that is an object", [{ a: 1 }], { map: ["/0"] }],
    ["a map with sets for pairs", [[["a", "b"]]], { map: ["/0"], set: ["/0/0"] }],
    ["a set that is a string", ["abc"], { set: ["/0"] }],
    ["a URL without a scheme", ["example.com"], { url: ["/0"] }],
    ["bytes that are not base64", ["ä"], { bytes: ["/0"] }],
    ["an unknown type without values", ["a"], { decimal: [] }],
    ["a path that is not in an array", ["a"], { date: "" }],
    ["a path into bytes", ["AAAA"], { bytes: ["/0"], undefined: ["/0/0"] }],
  ];
  test.each(wrong)("%s", (_, params, types) => {
    expect(refusalOf(params, types)).toBe(-32602);
  });

  test("more rich values than the limit, which is below ten thousand", () => {
    const params = Array.from({ length: 10_000 }, () => "1");
    const typed = (count: number) => ({ bigint: params.slice(0, count).map((_, i) => `/${i}`) });
    expect(refusalOf(params, typed(10_000))).toBe(-32602);
    expect(refusalOf(params, typed(5_001))).toBe(-32602);
    expect(refusalOf(params, typed(5_000))).toBe(undefined);
    const server = createServer(echo, { limits: { maxRichValues: 1 } });
    const request = { jsonrpc: "2.0", method: "echo", params: ["1", "2"], id: 1 };
    const text = JSON.stringify({ ...request, types: { bigint: ["/0", "/1"] } });
    expect(server.receive(text)).toContain("more than 1 values have types");
  });

  test("invalid types for a hidden method as for a method that does not exist", () => {
    const access = { scopes: ["admin"] };
    const server = createServer({ secret: method({ access }, () => 1) });
    const request = { jsonrpc: "2.0", method: "secret", params: ["x"], id: 1 };
    const text = JSON.stringify({ ...request, types: { date: ["/0"] } });
    expect(server.receive(text)).toContain("-32601");
  });
});

describe("a client refuses", () => {
  test.each([
    ["a result whose types do not fit", { result: 1, types: { date: [""] } }],
    ["types that are not an object", { result: 1, types: "date" }],
    ["an unknown type", { result: "1", types: { decimal: [""] } }],
    [
      "error data whose types do not fit",
      { error: { code: 1, message: "", data: 1 }, types: { date: [""] } },
    ],
  ])("%s", async (_, members) => {
    const error: unknown = await answeredWith(members)
      .call("any")
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(WireError);
    expect(error).toMatchObject({ code: "BAD_REPLY" });
  });

  test("to send a value that contains itself", async () => {
    const client = createClient(linkTo(createServer(echo)), { values: "rich" });
    const value: Record<string, unknown> = { at: new Date(0) };
    value["left"] = value["right"] = value;
    await expect(client.call("echo", [value])).rejects.toThrow("a value contains itself");
    const map = new Map();
    map.set("map", map);
    await expect(client.call("echo", [map])).rejects.toThrow("a value contains itself");
  });

  test("to send anything with types of the same name", async () => {
    const options = { values: "rich", types: [money, money] } as const;
    const client = createClient(linkTo(createServer(echo)), options);
    await expect(client.call("echo", [1])).rejects.toThrow("two value types");
  });

  test("to use rich values with JSON-RPC 1.0", async () => {
    const client = createClient(linkTo(createServer(echo)), { values: "rich", version: "1.0" });
    await expect(client.call("echo", [1])).rejects.toThrow("JSON-RPC 2.0");
  });
});

test("a handler may run twice with the same params", async () => {
  const seen: unknown[] = [];
  const twice = createServer(
    { see: (value: unknown) => seen.push(value) },
    {
      use: [
        (next) => async (request, context) => {
          await next(request, context);
          return next(request, context);
        },
      ],
    },
  );
  await createClient(linkTo(twice), { values: "rich" }).call("see", [new Date(0)]);
  expect(seen).toEqual([new Date(0), new Date(0)]);
});

test("no types, however made up, crash a server or pollute a prototype", () => {
  const server = createServer(echo);
  const steps = [
    "",
    "0",
    "1",
    "a",
    "length",
    "__proto__",
    "constructor",
    "prototype",
    "~",
    "~1",
    "-1",
    "01",
  ];
  const names = [
    "date",
    "bigint",
    "number",
    "undefined",
    "map",
    "set",
    "url",
    "bytes",
    "buffer",
    "__proto__",
  ];
  const path = fc.array(fc.constantFrom(...steps), { maxLength: 5 }).map((all) => all.join("/"));
  const paths = fc.oneof(
    { weight: 9, arbitrary: fc.array(path, { maxLength: 3 }) },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
  const types = fc.oneof(
    { weight: 9, arbitrary: fc.dictionary(fc.constantFrom(...names), paths, { maxKeys: 4 }) },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
  const leaf = fc.constantFrom<unknown>(
    "1",
    "-0",
    "",
    "AAAA",
    null,
    0,
    "2026-01-01T00:00:00Z",
    "a:b",
  );
  const json = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { depthSize: "small" },
      leaf,
      fc.array(tie("json"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...steps), tie("json"), { maxKeys: 3 }),
    ),
  })).json;
  const before = Object.getOwnPropertyNames(Object.prototype).join();
  fc.assert(
    fc.property(fc.array(json, { maxLength: 2 }), types, (params, typed) => {
      const text = JSON.stringify({ jsonrpc: "2.0", method: "echo", params, id: 1, types: typed });
      const reply = JSON.parse(server.receive(text) as string) as { error?: { code: number } };
      expect([undefined, -32602]).toContain(reply.error?.code);
    }),
    { numRuns: isFull ? 200_000 : 3_000 },
  );
  expect(Object.getOwnPropertyNames(Object.prototype).join()).toBe(before);
  expect(({} as { a?: unknown }).a).toBe(undefined);
});

describe("a file in an item", () => {
  test("that is too long for a message ends the stream", async () => {
    const photos = function* () {
      yield new Blob(["small"]);
      yield new Blob(["large".repeat(100)]);
    };
    const gallery = createServer({ photos }, { limits: { maxReplyLength: 400 } });
    const client = createClient<typeof gallery.api>(directLink(gallery), { values: "rich" });
    const sizes: number[] = [];
    const read = async () => {
      for await (const photo of client.api.photos()) sizes.push(photo.size);
    };
    await expect(read()).rejects.toMatchObject({
      code: ErrorCode.ReplyTooLarge,
      data: "an item must not be longer than 400 characters",
    });
    expect(sizes).toEqual([5]);
  });

  test("that is still being read when its call ends is closed", async () => {
    const server = createServer({
      keep: method({ upload: z.instanceof(ReadableStream) }, async (_, call) => {
        for await (const _photo of call.upload);
      }),
    });
    const client = createClient<typeof server.api>(directLink(server), { values: "rich" });
    const controller = new AbortController();
    let call: Promise<unknown> | undefined;
    await new Promise<void>((left) => {
      const endless = new ReadableStream(
        { pull: () => controller.abort(), cancel: () => left() },
        { highWaterMark: 0 },
      );
      const { signal } = controller;
      call = client.api.keep(undefined, { upload: [endless], signal });
      call.catch(() => {});
    });
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
  });
});

test("bytes travel in the message if its wire carries none beside it", async () => {
  const server = createServer({ file: () => new Blob(["abc"]) });
  const text = await server.receive('{"jsonrpc":"2.0","method":"file","id":1,"types":{}}');
  expect(JSON.parse(text as string)).toMatchObject({ result: { data: "YWJj", size: 3 } });
});

test("long bytes of a result travel beside the message where the wire can", async () => {
  const server = createServer({ bytes: () => new Uint8Array(100_000) });
  const origin = new Origin();
  let attached = 0;
  origin.attach = (reply) => {
    attached += reply.attached.length;
    return true;
  };
  const call = '{"jsonrpc":"2.0","method":"bytes","id":1,"types":{}}';
  expect(await server.receive(call, origin)).toMatch(/^.{1,200}$/);
  expect(attached).toBe(1);
  expect(await server.receive(call)).toMatch(/^.{130000,140000}$/);
});

test("the stream in a result that nobody reads is closed", async () => {
  let open: (result: unknown) => void = () => {};
  const file = () =>
    new Promise((resolve) => {
      open = resolve;
    });
  const server = createServer({ file });
  const origin = new Origin();
  void server.receive('{"jsonrpc":"2.0","method":"file","id":1,"types":{}}', origin);
  abandonCalls(server.running, origin, requestCancelled);
  const closed = new Promise((resolve) => open(new ReadableStream({ cancel: resolve })));
  await closed;
});
