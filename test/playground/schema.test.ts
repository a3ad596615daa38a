import { Ajv } from "ajv";
import type { JsonSchema, OpenrpcMethod } from "callwire/openrpc";
import { describe, expect, test } from "vitest";
import { typeText } from "../../playground/src/schema/describe.ts";
import {
  converted,
  exampleParams,
  firstParams,
  paramsSchema,
} from "../../playground/src/schema/params.ts";
import { valueAt, withValueAt } from "../../playground/src/schema/path.ts";
import { sampleOf } from "../../playground/src/schema/sample.ts";
import { faultsOf } from "../../playground/src/schema/validate.ts";

// What the form and the editor of the playground know about JSON Schema.

const components = {
  Tree: {
    type: "object",
    properties: {
      name: { type: "string" },
      children: { type: "array", items: { $ref: "#/components/schemas/Tree" } },
    },
    required: ["name"],
    additionalProperties: false,
  },
} satisfies Record<string, JsonSchema>;

const schemas: JsonSchema[] = [
  true,
  {},
  { type: "number", minimum: 1, maximum: 3 },
  { type: "integer", exclusiveMinimum: 0, multipleOf: 2 },
  { type: "string", minLength: 1, maxLength: 3 },
  { type: ["string", "null"] },
  { enum: ["a", 1, null] },
  { const: { a: 1 } },
  { type: "boolean" },
  { type: "array", items: { type: "number" }, minItems: 1, maxItems: 2 },
  { type: "array", items: [{ type: "string" }, { type: "number" }], additionalItems: false },
  {
    type: "object",
    properties: { a: { type: "number" } },
    required: ["a"],
    additionalProperties: false,
  },
  { type: "object", additionalProperties: { type: "number" } },
  {
    anyOf: [
      { type: "string" },
      { type: "object", properties: { a: { const: 1 } }, required: ["a"] },
    ],
  },
  { oneOf: [{ type: "number" }, { type: "null" }] },
  { allOf: [{ type: "object" }, { required: ["a"] }] },
  { not: { type: "string" } },
  { $ref: "#/components/schemas/Tree" },
];

const values: unknown[] = [
  null,
  true,
  0,
  1,
  2,
  2.5,
  4,
  "",
  "a",
  "long text",
  [],
  [1],
  [1, 2],
  [1, 2, 3],
  ["a", 1],
  ["a", 1, 2],
  {},
  { a: 1 },
  { a: "1" },
  { a: 1, b: 2 },
  { name: "root", children: [{ name: "leaf" }] },
  { name: "root", children: [{ name: 1 }] },
];

describe("faults", () => {
  const ajv = new Ajv({ strict: false });
  test.each(schemas.map((schema) => [JSON.stringify(schema), schema] as const))(
    "of %s are those that ajv finds",
    (_, schema) => {
      const document = typeof schema === "boolean" ? {} : schema;
      const valid = ajv.compile({ ...document, components: { schemas: components } });
      for (const value of values) {
        const faults = faultsOf(value, schema, components);
        expect({ value, isValid: faults.length === 0 }).toEqual({ value, isValid: valid(value) });
      }
    },
  );

  test("have their paths", () => {
    const value = { name: "root", children: [{ name: 1 }] };
    expect(faultsOf(value, { $ref: "#/components/schemas/Tree" }, components)).toEqual([
      { path: ["children", 0, "name"], message: "must be text" },
    ]);
  });

  test("of a pattern are left to the server, which a page cannot freeze", () => {
    expect(faultsOf("a".repeat(40), { type: "string", pattern: "(a+)+b" }, {})).toEqual([]);
  });
});

test.each(schemas.map((schema) => [JSON.stringify(schema), schema] as const))(
  "the sample of %s is a value that JSON has",
  (_, schema) => {
    const sample = sampleOf(schema, components);
    expect(JSON.parse(JSON.stringify(sample))).toEqual(sample);
  },
);

test.each<[JsonSchema, string]>([
  [
    { type: "array", items: { anyOf: [{ type: "string" }, { type: "null" }] } },
    "(string | null)[]",
  ],
  [{ enum: ["a", "b"] }, '"a" | "b"'],
  [{ $ref: "#/components/schemas/Tree" }, "{ name, children? }"],
  [{ $ref: "#/components/schemas/Missing" }, "any"],
  [{ type: "object", additionalProperties: { type: "number" } }, "{ [name]: number }"],
])("the type of %j reads %s", (schema, text) => {
  expect(typeText(schema, components)).toBe(text);
});

describe("a schema that somebody else wrote", () => {
  const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

  test("may be referred to by a name with escaped characters", () => {
    for (const name of ["per%20cent", "per cent", "a~1b", "a%7E1b"]) {
      const schema = { $ref: `#/components/schemas/${name}` };
      expect(typeText(schema, { "per cent": text, "a/b": text })).toBe("{ text }");
    }
  });

  test.each<JsonSchema>([
    { type: "array", items: 7 },
    { type: "object", properties: null },
    { type: "object", properties: { a: 7, b: "text", c: null }, required: ["a", "b", "c"] },
    { type: "object", properties: { a: { type: "object", required: true } }, required: ["a"] },
    { anyOf: [7, "text", null] },
    { $ref: 7 },
  ] as unknown as JsonSchema[])("is read as far as it makes sense: %j", (schema) => {
    const sample = sampleOf(schema, {});
    expect(faultsOf(sample, schema, {})).toEqual([]);
    expect(typeText(schema, {})).not.toBe("");
  });

  test("is skipped if it describes more values than can be checked", () => {
    const ref = (level: number) => ({ $ref: `#/components/schemas/L${level}` });
    const many = (level: number) => Array.from({ length: 50 }, () => ref(level));
    const objects: Record<string, JsonSchema> = { L30: { type: "string" } };
    const unions: Record<string, JsonSchema> = { L30: { type: "string" } };
    for (let level = 0; level < 30; level++) {
      const properties = Object.fromEntries(many(level + 1).entries());
      objects[`L${level}`] = { type: "object", properties, required: Object.keys(properties) };
      unions[`L${level}`] = { anyOf: many(level + 1) };
    }
    expect(sampleOf(ref(0), objects)).toBeTypeOf("object");
    expect(faultsOf(7, ref(0), unions)).toBeInstanceOf(Array);
    expect(typeText(ref(0), unions)).toContain("…");
  });

  test('with "not" accepts a value that is too long to be checked', () => {
    const schema: JsonSchema = { type: "array", items: { not: { type: "string" } } };
    for (const length of [20_000, 60_000, 60_001]) {
      expect(
        faultsOf(
          Array.from({ length }, () => 7),
          schema,
          {},
        ),
      ).toEqual([]);
    }
  });
});

describe("params", () => {
  const method: OpenrpcMethod = {
    name: "draw",
    params: [
      { name: "x", required: true, schema: { type: "number" } },
      { name: "y", required: true, schema: { type: "number" } },
      { name: "colour", schema: { enum: ["red", "green"] } },
    ],
    examples: [
      {
        name: "by position",
        params: [
          { name: "x", value: 1 },
          { name: "y", value: 2 },
        ],
        "x-params": [1, 2],
      },
    ],
  };

  test("go from one form to the other", () => {
    expect(converted([1, 2], "named", method)).toEqual({ x: 1, y: 2 });
    expect(converted({ x: 1, colour: "red" }, "positional", method)).toEqual([1, null, "red"]);
    expect(converted(undefined, "positional", method)).toBeUndefined();
  });

  test("begin with those of the example", () => {
    expect(exampleParams(method, method.examples?.[0] as never)).toEqual([1, 2]);
    expect(firstParams(method, {})).toEqual({ x: 1, y: 2 });
    expect(firstParams({ ...method, examples: [] }, {})).toEqual({ x: 0, y: 0 });
    expect(firstParams({ name: "none", params: [] }, {})).toBeUndefined();
  });

  test("are checked in the form that they have", () => {
    const messages = (value: unknown, form: "named" | "positional"): unknown =>
      faultsOf(value, paramsSchema(method, form, {}), {}).map(({ path, message }) => [
        path,
        message,
      ]);
    expect(messages({ x: 1, z: 1 }, "named")).toEqual([
      [["y"], "is required"],
      [["z"], "is not an allowed member"],
    ]);
    expect(messages([1], "positional")).toEqual([[[], "must have at least 2 items"]]);
    expect(messages([1, 2, "blue"], "positional")).toEqual([
      [[2], 'must be one of "red", "green"'],
    ]);
  });
});

describe("a value inside another", () => {
  test("is found as an own member only", () => {
    expect(valueAt({ a: [{ b: 1 }] }, ["a", 0, "b"])).toBe(1);
    expect(valueAt({}, ["constructor"])).toBeUndefined();
  });

  test("is set, added and taken away without touching the rest", () => {
    const before = { a: [1, 2], b: { c: 1 } };
    expect(withValueAt(before, ["a", 1], 3)).toEqual({ a: [1, 3], b: { c: 1 } });
    expect(withValueAt(before, ["a", 0], undefined)).toEqual({ a: [2], b: { c: 1 } });
    expect(withValueAt(before, ["b", "d"], true)).toEqual({ a: [1, 2], b: { c: 1, d: true } });
    expect(withValueAt(before, ["b", "c"], undefined)).toEqual({ a: [1, 2], b: {} });
    expect(withValueAt(undefined, ["list", 0], "x")).toEqual({ list: ["x"] });
    expect(before).toEqual({ a: [1, 2], b: { c: 1 } });
  });

  test("may be named __proto__", () => {
    const made = withValueAt({}, ["__proto__"], 1);
    expect(JSON.stringify(made)).toBe('{"__proto__":1}');
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
  });
});
