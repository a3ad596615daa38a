/** Whatever a server sends as its document or as a schema, every reader of it copes. */
import {
  htmlReference,
  type JsonSchemaObject,
  markdownReference,
  type OpenrpcDocument,
  pythonClient,
  readDocument,
  typescriptClient,
} from "callwire/openrpc";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { typeText } from "../../playground/src/schema/describe.ts";
import { firstParams, paramsSchema } from "../../playground/src/schema/params.ts";
import { faultsOf } from "../../playground/src/schema/validate.ts";
import { descriptionIn, mergedDocument } from "../../src/gateway/discovery.ts";
import { KnownTools } from "../../src/mcp/client/tools.ts";
import { readSchemaObject } from "../../src/openrpc/schema-reading.ts";
import { silentLog } from "../../src/protocol/log.ts";

/** More of them find more, in the full run. */
const numRuns = Number(process.env.HOSTILE_DOCUMENTS ?? 300);
const seed = Number(process.env.HOSTILE_SEED ?? 20);

const keywords =
  `$ref $anchor type title description deprecated nullable enum const properties required
  additionalProperties patternProperties propertyNames items prefixItems additionalItems minItems contains allOf anyOf
  oneOf not if then else definitions $defs dependentSchemas dependentRequired default format minimum x-mcp-header`
    .trim()
    .split(/\s+/);
const members =
  `openrpc info servers methods components schemas name params result schema paramStructure tags errors
  examples x-stream x-errors x-params x-timeout-ms x-idempotent code message data item items value summary url`
    .trim()
    .split(/\s+/);
const texts = fc.constantFrom(
  ...["", "a", "a/b", "__proto__", "toString", "object", "array", "string", "null", "by-position"],
  ...["#/components/schemas/A", "#/components/schemas/B", "#", "#/", "#/methods/0", "`", "\u202e"],
  ...["\u009b31m", "\u001b]0;x\u0007", "\ud800", '"', "*/", "$&", "1", "-32000"],
);
const odd = fc.oneof(
  texts,
  fc.constantFrom(null, true, false, 0, -1, 1.5, 1e300, [], {}, { toString: 1, valueOf: null }),
);

const { schema } = fc.letrec((tie) => ({
  any: fc.oneof({ depthSize: "small" }, odd, fc.array(tie("any"), { maxLength: 3 }), tie("schema")),
  schema: fc.dictionary(
    fc.oneof(fc.constantFrom(...keywords), texts),
    fc.oneof(
      { depthSize: "small" },
      odd,
      tie("schema"),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(texts, tie("any"), { maxKeys: 3 }),
    ),
    { maxKeys: 5 },
  ),
}));

const part = fc.oneof(odd, fc.dictionary(fc.constantFrom(...members), fc.oneof(odd, schema)));
const list = fc.oneof(odd, fc.array(part, { maxLength: 3 }));
const content = fc.oneof(part, fc.record({ name: texts, schema: fc.oneof(schema, odd) }));
const method = fc.record(
  {
    name: texts,
    params: fc.oneof(list, fc.array(content, { maxLength: 3 })),
    result: content,
    paramStructure: texts,
    errors: list,
    examples: list,
    tags: list,
    "x-stream": fc.oneof(part, fc.record({ item: schema })),
    "x-errors": fc.array(
      fc.record({ name: texts, code: fc.constantFrom(1, 1.5), data: schema, message: odd }),
      { maxLength: 2 },
    ),
    "x-params": fc.oneof(odd, schema),
    "x-timeout-ms": odd,
  },
  { requiredKeys: ["name"] },
);
const document = fc.record({
  openrpc: texts,
  info: part,
  servers: list,
  methods: fc.array(fc.oneof({ weight: 3, arbitrary: method }, { weight: 1, arbitrary: part }), {
    maxLength: 3,
  }),
  components: fc.oneof(
    part,
    fc.record({ schemas: fc.dictionary(fc.constantFrom("A", "B", "__proto__"), schema) }),
  ),
});
const anything = fc.oneof({ weight: 9, arbitrary: document }, { weight: 1, arbitrary: part });

/** Characters that control a terminal, or the direction in which a line reads. */
const acting =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not pass
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

function check(run: (value: unknown) => void, arbitrary: fc.Arbitrary<unknown>): void {
  fc.assert(fc.property(arbitrary, run), { numRuns, seed });
}

describe.each([
  ["a client in TypeScript", typescriptClient],
  ["a client in Python", pythonClient],
  ["a page", htmlReference],
  ["Markdown", markdownReference],
])("%s of a hostile document", (_, write) => {
  test("is written, or the document is refused, and nothing in it steers a terminal", () => {
    check((value) => {
      let text: string;
      try {
        text = write(value);
      } catch (error) {
        expect(String(error)).toMatch(/^TypeError: this is not an OpenRPC document/);
        return;
      }
      expect(text).not.toMatch(acting);
    }, anything);
  });
});

test("the playground shows a hostile document", () => {
  check((value) => {
    const read = readDocument(value);
    const schemas = read.components?.schemas ?? {};
    for (const each of read.methods) {
      const params = firstParams(each, schemas);
      faultsOf(params, paramsSchema(each, "named", schemas), schemas);
      for (const { schema: own } of each.params) typeText(own, schemas);
    }
  }, document);
});

test("a gateway merges what hostile upstreams say", () => {
  check((value) => {
    const description = descriptionIn(value);
    if (description === undefined) return;
    const schemas = (description.components?.schemas ?? {}) as NonNullable<
      NonNullable<OpenrpcDocument["components"]>["schemas"]
    >;
    const offered = description.methods.map((each) => {
      return { route: undefined as never, upstream: "u", method: each, schemas };
    });
    JSON.stringify(mergedDocument(offered, { title: "", version: "" }));
  }, anything);
});

test("an MCP client takes tools with hostile schemas, and what they give", () => {
  check((value) => {
    const tools = new KnownTools(silentLog);
    const outputSchema = value as JsonSchemaObject;
    tools.learn([{ name: "x", inputSchema: outputSchema, outputSchema }], true);
    try {
      tools.check("x", { content: [], structuredContent: { a: 1 } });
    } catch (error) {
      expect(String(error)).toContain("does not match its schema");
    }
  }, schema);
});

test.each([
  [{ anyOf: [null] }, { anyOf: [{}] }],
  [{ properties: { a: null, b: 1, c: false } }, { properties: { a: {}, b: {}, c: false } }],
  [{ properties: [], required: ["a", 1], type: 7, $ref: 1 }, { required: ["a"] }],
  [
    { items: [null, true], allOf: {}, enum: "x", x: null },
    { items: [{}, true], x: null },
  ],
])("%j reads as a schema", (given, read) => {
  expect(readSchemaObject(given)).toEqual(read);
});

test("what is not a schema is reported with its keyword and its method", () => {
  const faults: string[] = [];
  const params = [{ name: "p", schema: { properties: { a: { anyOf: [null] } } } }];
  const methods = [{ name: "math/add", params }];
  readDocument({ openrpc: "1.3.2", methods }, { onFault: (where) => faults.push(where) });
  expect(faults).toEqual(['"anyOf" in math/add']);
});

test("a document that nests deeper than a stack is refused", () => {
  let deep: unknown = {};
  for (let i = 0; i < 100_000; i++) deep = { items: deep };
  const methods = [{ name: "x", params: [], examples: [{ params: [{ name: "a", value: deep }] }] }];
  for (const write of [typescriptClient, markdownReference]) {
    expect(() => write({ openrpc: "1.3.2", methods })).toThrow("nests deeper than");
  }
});

test("more backticks and parts than a call takes arguments do not matter", () => {
  const description = "` ".repeat(200_000);
  const allOf = Array.from({ length: 200_000 }, () => ({ type: "string" }));
  const methods = [
    { name: description, params: [], result: { name: "r", schema: { allOf } } },
    { name: "b", params: [] },
  ];
  expect(markdownReference({ openrpc: "1.3.2", methods })).toContain("Result: `string`");
});
