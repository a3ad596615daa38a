import { inspect, isDeepStrictEqual } from "node:util";
import { escaped } from "../../../src/protocol/json-pointer.ts";
import { ValueCodec } from "../../../src/protocol/value-codec.ts";
import { builtIns } from "../../../src/protocol/value-types.ts";
import { jsonText } from "../json.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";

const most = 50;
const codec = new ValueCodec([], most);

interface Input {
  readonly json: string;
  readonly types: Readonly<Record<string, unknown>>;
}

/**
 * The member `types` of strangers: paths into JSON that say which value is a date, a map and so on.
 */
export const richValues = fuzzTarget<Input>({
  holds:
    "the JSON is decoded as by a naive reader of the paths, or refused with a TypeError; it is not changed, and what was decoded can be encoded and decoded again",
  briefly: 6_000,
  reaches: ["decoded", "refused"],
  generate(random) {
    const fit = random.oneIn(2) ? fitting(random) : { json: jsonText(random), types: {} };
    // Messages that nest deeper than a server accepts do not get this far.
    const json = fit.json.length > 2_000 ? "[]" : fit.json;
    const types: Record<string, unknown> = { ...fit.types };
    for (const name of random.some(3, () => random.pick(names))) types[name] = paths(random, json);
    return { json, types };
  },
  check({ json, types }) {
    const value: unknown = JSON.parse(json);
    const wanted = naive(JSON.parse(json), types);
    let given: unknown;
    try {
      given = codec.decode(value, types);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      if (wanted !== refused) broken("refused", { given: error.message });
      return "refused";
    }
    if (wanted === refused) broken("accepted", {});
    if (!isDeepStrictEqual(value, JSON.parse(json))) broken("the JSON was changed", { value });
    if (!isSame(given, wanted)) broken("decoded differently", {});
    const typed = codec.encode(given);
    const again = typed && codec.decode(JSON.parse(JSON.stringify(typed.value)), typed.types);
    if (typed !== undefined && !isLost(json, types) && !isSame(again, given)) {
      broken("encoded differently", typed);
    }
    return "decoded";
  },
});

/** Node does not treat two invalid dates as equal. */
function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b) || inspect(a, { depth: 99 }) === inspect(b, { depth: 99 });
}

/** Members of this name are not followed, and undefined members are left out, as in all JSON. */
function isLost(json: string, types: object): boolean {
  // Whatever escapes its name was written with.
  const written = JSON.stringify(JSON.parse(json));
  return written.includes("__proto__") || "undefined" in types;
}

const refused = Symbol("refused");
const leaves = new Set(["date", "bigint", "number", "undefined", "url", "bytes", "buffer"]);

function naive(json: unknown, types: Input["types"]): unknown {
  const root: Record<string, unknown> = { "": json };
  const all: [path: string, name: string][] = [];
  for (const [name, paths] of Object.entries(types)) {
    if (!Object.hasOwn(builtIns, name) || !Array.isArray(paths)) return refused;
    if (!paths.every((path) => typeof path === "string")) return refused;
    for (const path of paths) all.push([path, name]);
  }
  if (all.length > most) return refused;
  const flat = all.filter(([, name]) => leaves.has(name));
  const nested = all.filter(([, name]) => !leaves.has(name));
  nested.sort(([a], [b]) => b.length - a.length);
  try {
    for (const [path, name] of [...flat, ...nested]) replace(root, path, name);
  } catch {
    return refused;
  }
  return root[""];
}

function replace(root: Record<string, unknown>, path: string, name: string): void {
  let at: unknown = root;
  const steps = path.split("/");
  for (const [i, step] of steps.entries()) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    const isPlain = Array.isArray(at) || Object.getPrototypeOf(at as object) === Object.prototype;
    const isNamed = Object.hasOwn(at as object, key) && key !== "__proto__";
    const isLength = Array.isArray(at) && key === "length";
    if (/~(?![01])/.test(step) || !isPlain || !isNamed || isLength) throw new Error("no value");
    const parent = at as Record<string, unknown>;
    at = parent[key];
    if (i === steps.length - 1) parent[key] = builtIns[name]?.fromJson(at);
  }
}

const names = [...Object.keys(builtIns), "unknown", "__proto__", "toString"];
const scalars: Readonly<Record<string, readonly unknown[]>> = {
  date: [
    "2026-11-18T05:00:00.123Z",
    "0001-01-01T00:00:00.000Z",
    "2024-02-29T23:59:59.999Z",
    "2023-02-29T00:00:00.000Z",
    "+010000-01-01T00:00:00.000Z",
    "2026-11-18T05:00:00+02:00",
    "2026-11-18T24:00:00.000Z",
    null,
  ],
  bigint: ["0", "-1", "123456789012345678901234567890", "-0", "1.5", ""],
  number: ["NaN", "Infinity", "-Infinity", "-0", "0"],
  undefined: [null],
  url: ["https://example.com/a?b#c", "x:y", "nothing", "http://a\n"],
  bytes: ["AAEC", "", "AAE=", "AA", "A", "!!!!", "AB==", "_-8="],
  buffer: ["AAEC", "AA=="],
};
const keys = ["a", "a/b", "m~n", "", "0", "10", "1", "length", "constructor", "~1"];

/** JSON with types that fit it. */
function fitting(random: Random): Input {
  const types: Record<string, string[]> = {};
  const value = (path: string, depth: number): unknown => {
    const inner = (key: string | number): unknown => value(`${path}/${key}`, depth - 1);
    const note = (name: string): void => {
      types[name] = [...(types[name] ?? []), path];
    };
    switch (random.below(depth > 0 ? 7 : 3)) {
      case 0:
        return random.pick([1, "a", null, true]);
      case 1:
      case 2: {
        const name = random.pick(Object.keys(scalars));
        note(name);
        return random.pick(scalars[name] as unknown[]);
      }
      case 3:
        note("map");
        return random
          .some(3, () => 0)
          .map((_, i) => [inner(`${i}/0`), random.oneIn(30) ? 0 : inner(`${i}/1`)]);
      case 4:
        note("set");
        return random.some(3, () => 0).map((_, i) => inner(i));
      case 5:
        return random.some(3, () => 0).map((_, i) => inner(i));
      default: {
        const own = random.some(3, () => random.pick(keys));
        return Object.fromEntries(own.map((key) => [key, inner(escaped(key))]));
      }
    }
  };
  const json = JSON.stringify(value("", 3));
  return { json, types };
}

function paths(random: Random, json: string): unknown {
  if (random.oneIn(20)) return random.pick([1, null, "/a", [1], [null]]);
  const value = JSON.parse(json) as unknown;
  return random.some(4, () => {
    let path = "";
    for (let at = value; typeof at === "object" && at !== null && !random.oneIn(4); ) {
      const others = random.oneIn(10) ? ["length", "x", "__proto__", "-1"] : [];
      const key = random.pick([...Object.keys(at), ...others]);
      if (key === undefined) break;
      path += `/${escaped(key)}`;
      at = (at as Record<string, unknown>)[key];
    }
    const rest = ["/", "~", "/~2", "/__proto__/x", "/length", "//"];
    return random.oneIn(15) ? path + random.pick(rest) : path;
  });
}
