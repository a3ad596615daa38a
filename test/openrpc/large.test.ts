/** Documents as long as a reply may be, written so that a naive reader would take hours. */
import {
  htmlReference,
  markdownReference,
  pythonClient,
  readDocument,
  typescriptClient,
} from "callwire/openrpc";
import { expect, test } from "vitest";
import { isFull } from "../full.ts";

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

function documentOf(schemas: Readonly<Record<string, unknown>>): object {
  const methods = [{ name: "ask", params: [], result: { name: "result", schema: ref("last") } }];
  return {
    openrpc: "1.3.2",
    info: { title: "Large", version: "1" },
    methods,
    components: { schemas },
  };
}

const many = Array.from({ length: isFull ? 20_000 : 8_000 }, (_, i) => i);

const all = { anyOf: many.map((i) => ref(`part${i}`)) };
const parts = many.map((i) => [`part${i}`, { type: "string" }]);
const wholes = many.map((i) => [`whole${i}`, { anyOf: [ref("all")] }]);
const properties = Object.fromEntries(many.map((i) => [`member${i}`, {}]));

test.each([
  ["types that are each all others", { all, ...Object.fromEntries([...parts, ...wholes]) }],
  [
    "names that come to the same",
    Object.fromEntries(
      many.map((i) => [String.fromCharCode(0xac00 + (i % 11_000), 0x4e00 + (i % 7)), {}]),
    ),
  ],
  ["members that are all needed", { last: { properties, required: many.map((i) => `other${i}`) } }],
])("of %s", (_, schemas) => {
  for (const write of [typescriptClient, pythonClient, markdownReference, htmlReference]) {
    expect(write(documentOf(schemas))).toContain("ask");
  }
});

test("types that refer only to themselves are left open, and types that refer to them are not", () => {
  const schemas = {
    one: ref("two"),
    two: { anyOf: [ref("three"), { type: "string" }] },
    three: { allOf: [ref("one")] },
    itself: { not: ref("itself") },
    before: { oneOf: [ref("one")] },
    list: { type: "array", items: ref("list") },
  };
  const { before, list } = schemas;
  expect(readDocument(documentOf(schemas)).components?.schemas).toEqual({
    one: {},
    two: {},
    three: {},
    itself: {},
    before,
    list,
  });
});
