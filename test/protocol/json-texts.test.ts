import { describe, expect, test, vi } from "vitest";
import { escaped, memberAt, unescaped } from "../../src/protocol/json-pointer.ts";
import { keptEntries, skipSpace, valueEnd } from "../../src/protocol/json-scan.ts";
import { jsonLine, jsonOf, loggedError, safeJson } from "../../src/protocol/log-text.ts";
import { builtIns } from "../../src/protocol/value-types.ts";

describe("JSON that is cut without parsing it again", () => {
  test.each([
    '"a"',
    '"a\\"]b"',
    '"\\\\"',
    "{}",
    "[]",
    '{"a":[1,{"b":"}"}]}',
    "[[],[]]",
    "12.5e3",
    "true",
    "null",
  ])("%s ends where it ends", (value) => {
    for (const rest of ["", ",1", " ,1", "]", "}", "\n"]) {
      expect(valueEnd(`[${value}${rest}`, 1)).toBe(1 + value.length);
    }
  });

  test("entries are dropped, and the others stay as they were written", () => {
    const text = ' [ 1.0 , {"a":[1, 2]} ,"x,]" , [ ] ]';
    expect(keptEntries(text, [true, true, true, true])).toBe('[1.0,{"a":[1, 2]},"x,]",[ ]]');
    expect(keptEntries(text, [false, true, false, true])).toBe('[{"a":[1, 2]},[ ]]');
    expect(keptEntries(text, [false, false, false, false])).toBe("[]");
    expect([
      skipSpace("", 0),
      skipSpace(" \n\ta", 0),
      skipSpace("a", 0),
      skipSpace("a  ", 1),
    ]).toEqual([0, 3, 0, 3]);
  });

  test("pointers name own members", () => {
    for (const [plain, written] of [
      ["a", "a"],
      ["a/b", "a~1b"],
      ["~", "~0"],
      ["~1", "~01"],
      ["~/", "~0~1"],
    ] as const) {
      expect(escaped(plain)).toBe(written);
      expect(unescaped(written)).toBe(plain);
    }
    for (const wrong of ["~", "~2", "a~"]) expect(() => unescaped(wrong)).toThrow("wrong form");
    const json = { a: [{ "b/c": 5 }], length: 1 };
    expect(memberAt(json, "")).toBe(json);
    expect(memberAt(json, "/a/0/b~1c")).toBe(5);
    expect(memberAt(json, "/length")).toBe(1);
    for (const path of ["/x", "/a/length", "/a/1", "/__proto__", "/toString", "/length/x"]) {
      expect(() => memberAt(json, path)).toThrow("wrong form");
    }
    expect(() => memberAt(json, 5)).toThrow("a path must be a string");
    expect(() => memberAt(null, "/a")).toThrow("wrong form");
  });
});

describe("dates", () => {
  const { fromJson, toJson } = builtIns["date"] as {
    fromJson(json: unknown): Date;
    toJson(date: Date): unknown;
  };

  test.each([
    "2026-11-18T05:00:00.123Z",
    "0100-01-01T00:00:00.000Z",
    "0099-12-31T23:59:59.999Z",
    "1969-12-31T23:59:59.999Z",
    "2024-02-29T12:30:45.010Z",
    "2023-12-28T23:59:59.009Z",
    "2023-12-31T00:00:00.099Z",
    "+012345-01-02T03:04:05.678Z",
  ])("%s is read and written like JavaScript does", (text) => {
    expect(fromJson(text).toISOString()).toBe(new Date(text).toISOString());
    expect(toJson(new Date(text))).toBe(text);
  });

  test.each([
    "2026-00-18T05:00:00.123Z",
    "2026-13-18T05:00:00.123Z",
    "2026-11-00T05:00:00.123Z",
    "2026-11-32T05:00:00.123Z",
    "2026-11-18T25:00:00.123Z",
    "2026-11-18T05:60:00.123Z",
    "2026-11-18T05:00:61.123Z",
    "2026-11-18 05:00:00.123Z",
    "2026-11-18T05:00:00.12:Z",
    "2026-11-18T05:00:00.12/Z",
    "2026-11-18",
    "x2026-11-18T05:00:00Z",
    "2026-11-18T05:00:00Zx",
    "",
    5,
  ])("%s is not a date", (text) => {
    expect(() => fromJson(text)).toThrow("wrong form");
  });

  test("without a usual form are read too, and invalid ones are null", () => {
    expect(fromJson("2026-11-18T05:00:00+01:00").getTime()).toBe(Date.UTC(2026, 10, 18, 4));
    expect(fromJson("2026-11-18T24:00:00.000Z").getTime()).toBe(Date.UTC(2026, 10, 19));
    expect(fromJson(null).getTime()).toBeNaN();
    expect(toJson(new Date(Number.NaN))).toBeNull();
  });
});

describe("a line of the log", () => {
  test.each([
    [1_000, "1970-01-01T00:00:01.000Z"],
    [1_009, "1970-01-01T00:00:01.009Z"],
    [1_010, "1970-01-01T00:00:01.010Z"],
    [1_099, "1970-01-01T00:00:01.099Z"],
    [1_100, "1970-01-01T00:00:01.100Z"],
    [3_600_000, "1970-01-01T01:00:00.000Z"],
  ])("has the time %i as %s", (now, time) => {
    vi.useFakeTimers({ now });
    try {
      expect(JSON.parse(jsonLine("info", {}, "m"))).toEqual({ time, level: "info", msg: "m" });
    } finally {
      vi.useRealTimers();
    }
  });

  test("has its own level and message, also in the millisecond of another", () => {
    vi.useFakeTimers({ now: 1_000 });
    try {
      for (const msg of ["call", "slow call", "slow call"]) {
        for (const level of ["info", "warn", "info", "info"] as const) {
          const time = "1970-01-01T00:00:01.000Z";
          expect(JSON.parse(jsonLine(level, { a: 1 }, msg))).toEqual({ time, level, msg, a: 1 });
        }
      }
    } finally {
      vi.useRealTimers();
    }
  });

  test("has numbers as JSON.stringify writes them", () => {
    const numbers = [
      0,
      -0,
      1e-7,
      0.0005,
      0.1 + 0.2,
      999_999.999,
      1_000_000.001,
      -1.5,
      2 ** 53,
      1e21,
    ];
    for (let thousandth = 0; thousandth < 2_100; thousandth++) numbers.push(thousandth / 1000);
    for (const value of numbers.flatMap((each) => [each, each * 37, each])) {
      expect(jsonLine("info", { value }, "m")).toContain(`"value":${JSON.stringify(value)}}`);
    }
  });

  test("is JSON, whatever its fields are", () => {
    const fields = {
      text: 'say "hi"\n',
      plain: "a b/c@d",
      number: 1.5,
      endless: Number.NaN,
      missing: undefined,
      big: 5n,
      nothing: null,
      'na"me': true,
      nested: { a: [1] },
    };
    const { time: _, ...rest } = JSON.parse(jsonLine("warn", fields, "it\tis"));
    expect(rest).toEqual({
      level: "warn",
      msg: "it\tis",
      text: 'say "hi"\n',
      plain: "a b/c@d",
      number: 1.5,
      endless: null,
      big: "5",
      nothing: null,
      'na"me': true,
      nested: { a: [1] },
    });
    expect(safeJson(undefined)).toBe("null");
    expect(safeJson("\u009b")).toBe('"\\u009b"');
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    expect(jsonOf(circle)).toMatch(/^"\(Converting circular/);
    const hostile = {
      toJSON() {
        throw "no";
      },
    };
    expect(jsonOf(hostile)).toBe('"(not JSON)"');
  });

  test("describes an error with its simple members, data, errors and causes", () => {
    const cause = new TypeError("why");
    const error = Object.assign(new Error("what", { cause }), {
      code: "E1",
      socket: { secret: 1 },
      gone: null,
      data: { a: 5n, inner: new Error("in data") },
      errors: [new RangeError("one"), "two"],
    });
    expect(loggedError(error)).toEqual({
      type: "Error",
      message: "what",
      stack: error.stack,
      code: "E1",
      data: {
        a: "5",
        inner: { type: "Error", message: "in data", stack: error.data.inner.stack },
      },
      errors: [{ type: "RangeError", message: "one", stack: expect.any(String) }, "two"],
      cause: { type: "TypeError", message: "why", stack: cause.stack },
    });
  });

  test("is bounded: in circles, in depth, in number and in length", () => {
    const circle = new Error("round");
    circle.cause = circle;
    expect(loggedError(circle)).toMatchObject({ cause: "Error: round" });
    let chain = new Error("last");
    for (let i = 0; i < 20; i++) chain = new Error(`${i}`, { cause: chain });
    let depth = 0;
    let at = loggedError(chain) as { cause?: unknown } | string;
    for (; typeof at === "object"; at = at.cause as never) depth++;
    expect([depth, at]).toEqual([16, "Error: 3"]);
    const many = Object.assign(new Error("many"), {
      errors: Array.from({ length: 18 }, (_, i) => i),
    });
    const { errors } = loggedError(many) as { errors: unknown[] };
    expect(errors.slice(15)).toEqual([15, "2 more"]);
    const few = Object.assign(new Error("few"), {
      errors: Array.from({ length: 16 }, (_, i) => i),
    });
    expect((loggedError(few) as typeof few).errors).toHaveLength(16);
    const long = (length: number) =>
      (
        loggedError(
          Object.assign(new Error("long"), { data: ["x".repeat(length)] }),
        ) as typeof few & {
          data: unknown;
        }
      ).data;
    expect(long(9_000)).toEqual(["x".repeat(9_000)]);
    const object = (length: number) =>
      (
        loggedError(Object.assign(new Error("long"), { data: { a: "x".repeat(length) } })) as {
          data?: unknown;
        }
      ).data;
    // With {"a":""} around it.
    expect(object(8_184)).toEqual({ a: "x".repeat(8_184) });
    expect(object(8_185)).toBe(`{"a":"${"x".repeat(8_185)}"...`);
  });
});
