/** Values that JSON cannot express, nested in values that it can. */
import fc from "fast-check";

const keys = fc.oneof(
  fc.string({ maxLength: 4 }),
  fc.constantFrom("a/b", "~", "~1", "", "length", "constructor", "0", "types"),
);

const leaves = fc.oneof(
  fc.jsonValue({ maxDepth: 0 }),
  fc.date({ noInvalidDate: false }),
  fc.bigInt(),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0),
  fc.constantFrom("https://example.com/a?b=c#d", "data:,x").map((href) => new URL(href)),
  fc.uint8Array({ maxLength: 20 }),
  fc.uint8Array({ maxLength: 20 }).map(({ buffer }) => buffer),
);

export const richValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => {
  const inArray = fc.oneof(tie("value"), fc.constant(undefined));
  return {
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaves,
      fc.array(inArray, { maxLength: 4 }),
      fc.array(fc.tuple(inArray, inArray), { maxLength: 3 }).map((pairs) => new Map(pairs)),
      fc.array(inArray, { maxLength: 3 }).map((members) => new Set(members)),
      fc.dictionary(
        keys.filter((key) => key !== "__proto__"),
        tie("value"),
        {
          maxKeys: 4,
          noNullPrototype: true,
        },
      ),
    ),
  };
}).value;

/** One value of each kind, for wires on which thousands of calls would take long. */
export const oneOfEach = {
  date: new Date("2026-11-18T05:00:00.123Z"),
  bigint: -(2n ** 80n),
  map: new Map<unknown, unknown>([
    ["at", new Date(0)],
    [1n, new Set([Number.NaN])],
  ]),
  set: new Set<unknown>(["a", new Map([[undefined, -0]])]),
  url: new URL("https://example.com/path?query#hash"),
  holes: [undefined, null, undefined],
  numbers: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0, 1.5],
  bytes: new Uint8Array([0, 127, 128, 255]),
  buffer: new Uint8Array([1, 2, 3]).buffer,
  "a/b~c": { "": [new Date(1)] },
};
