import { Ajv2020 } from "ajv/dist/2020.js";
import { jsonSchema } from "callwire/mcp";
import fc from "fast-check";
import { expect, test } from "vitest";

const schemas: readonly Record<string, unknown>[] = [
  { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
  { type: ["string", "null"], minLength: 2, maxLength: 3 },
  { enum: [1, "a", null, { b: 1 }] },
  { const: { a: [1] } },
  { type: "array", prefixItems: [{ type: "string" }], items: { type: "number" }, minItems: 1 },
  { type: "array", contains: { const: 1 }, uniqueItems: true, maxItems: 3 },
  { patternProperties: { "^a": { type: "number" } }, additionalProperties: { type: "string" } },
  { propertyNames: { maxLength: 1 }, maxProperties: 2, minProperties: 1, type: "object" },
  { allOf: [{ minimum: 1 }, { maximum: 5 }], not: { const: 3 } },
  { anyOf: [{ type: "string" }, { type: "integer" }] },
  { oneOf: [{ type: "integer" }, { type: "number", exclusiveMinimum: 2 }] },
  { if: { type: "string" }, then: { pattern: "^a" }, else: { type: "number", multipleOf: 2 } },
  { dependentRequired: { a: ["b"] }, dependentSchemas: { c: { required: ["a"] } } },
  {
    $defs: { node: { type: "object", properties: { a: { $ref: "#/$defs/node" } } } },
    $ref: "#/$defs/node",
  },
  { $defs: { b: { $anchor: "here", type: "boolean" } }, properties: { a: { $ref: "#here" } } },
  { type: "object", properties: { a: { $ref: "#" }, b: false }, additionalProperties: false },
];

const leaf = fc.constantFrom<unknown>(
  0,
  1,
  2,
  3,
  4.5,
  -1,
  "",
  "a",
  "ab",
  "abcd",
  "😀😀",
  null,
  true,
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie("any"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom("a", "b", "c", "ab", "d"), tie("any"), {
      maxKeys: 3,
      // JSON has no prototypes, and ajv treats objects with different prototypes as different.
      noNullPrototype: true,
    }),
  ),
})).any;

test.each(schemas.map((schema) => [JSON.stringify(schema), schema] as const))(
  "%s takes what ajv takes",
  (_, schema) => {
    const reference = new Ajv2020({ strict: false }).compile(schema);
    const { validate } = jsonSchema(schema)["~standard"];
    fc.assert(
      fc.property(value, (each) => {
        const checked = validate(each);
        if (checked instanceof Promise) throw new TypeError("it is never asynchronous");
        expect(checked.issues === undefined).toBe(reference(each));
      }),
      { numRuns: 300 },
    );
  },
);

test("an issue has its path", () => {
  const schema = jsonSchema({
    properties: { list: { type: "array", items: { required: ["id"] } } },
  });
  expect(schema["~standard"].validate({ list: [{ id: 1 }, {}] })).toEqual({
    issues: [{ message: "is required", path: ["list", 1, "id"] }],
  });
});

test("an external reference is neither followed nor a reason to refuse the value", () => {
  const schema = jsonSchema({ $ref: "https://example.com/schema.json" });
  expect(schema["~standard"].validate(1)).toEqual({ value: 1 });
});

test("an invalid pattern is reported when the schema is created", () => {
  expect(() => jsonSchema({ properties: { a: { pattern: "[" } } })).toThrow("/[/u");
});

test("forms within forms are checked for so long, and a long list in whole", () => {
  const { validate } = jsonSchema({
    anyOf: [{ properties: { a: { $ref: "#" } } }, { properties: { a: { $ref: "#" } } }],
    not: { required: ["b"] },
  })["~standard"];
  const nested = (depth: number): object => (depth === 0 ? { b: 1 } : { a: nested(depth - 1) });
  expect(validate(nested(3))).toMatchObject({ issues: [{}] });
  expect(validate(nested(60))).toEqual({
    issues: [{ message: "takes too long to check", path: [] }],
  });
  const list = Array.from({ length: 1_000_000 }, (_, i) => i);
  expect(jsonSchema({ items: { type: "number" } })["~standard"].validate(list)).toEqual({
    value: list,
  });
});
