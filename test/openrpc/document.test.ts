import { toJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { createServer, type Methods, method, stream } from "callwire";
import {
  type DocumentOptions,
  type JsonSchema,
  type OpenrpcDocument,
  type OpenrpcMethod,
  openrpcDocument,
} from "callwire/openrpc";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { methods as demo } from "../../examples/demo/methods.ts";
import { faultsOf } from "./validity.ts";

/** A document that is valid, or the test fails. */
function documentOf(methods: Methods, options?: DocumentOptions): OpenrpcDocument {
  const document = openrpcDocument(createServer(methods).methods, options);
  expect(faultsOf(document)).toEqual([]);
  return document;
}

function only(methods: Methods, options?: DocumentOptions): OpenrpcMethod {
  const [first] = documentOf(methods, options).methods;
  return first as OpenrpcMethod;
}

function schemasOf(document: OpenrpcDocument): Readonly<Record<string, JsonSchema>> {
  return document.components?.schemas ?? {};
}

describe("validity", () => {
  test("an invalid document is detected", () => {
    const broken = { openrpc: "1.3.2", info: { title: "x" }, methods: [{ name: "a" }] };
    expect(faultsOf(broken as never)).not.toEqual([]);
    expect(faultsOf({ ...openrpcDocument({}), openrpc: "0.9.9" })).not.toEqual([]);
  });

  test("the demo's document is valid", () => {
    documentOf(demo, { servers: [{ url: "http://localhost:8000/rpc", name: "local" }] });
  });
});

describe("the demo", () => {
  const document = documentOf(demo);
  const server = createServer(demo);

  test("has each of its methods, in order", () => {
    expect(document.methods.map(({ name }) => name)).toEqual([...server.methods.keys()]);
  });

  test.each([...server.methods])("%s shows params, result, errors and items", (name, entry) => {
    const { definition, kind } = entry;
    const described = document.methods.find((one) => one.name === name) as OpenrpcMethod;
    const { shape } = definition.params as unknown as { shape: Record<string, z.ZodType> };
    expect(described.summary).toBe(definition.summary);
    expect(described.description).toBe(definition.description);
    expect(described.paramStructure).toBe("either");
    expect(described.params.map((param) => param.name)).toEqual(Object.keys(shape));
    for (const { name: param, required } of described.params) {
      expect(required, param).toBe(
        !shape[param]?.safeParse(undefined).success || (param === "message" && name === "echo"),
      );
    }
    expect(described.examples).toHaveLength(definition.examples?.length ?? 0);
    expect(described.errors?.map(({ code }) => code)).toEqual(
      definition.errors && Object.values(definition.errors).map(({ code }) => code),
    );
    expect(described["x-errors"]?.map((error) => error.name)).toEqual(
      definition.errors && Object.keys(definition.errors),
    );
    expect(described["x-stream"] !== undefined).toBe(kind === "stream");
    if (definition.result instanceof z.ZodNumber) {
      expect(described.result?.schema).toEqual({ type: "number" });
    }
  });

  test("an error says what its data looks like", () => {
    const sqrt = document.methods.find(({ name }) => name === "math/sqrt");
    expect(sqrt?.errors).toEqual([{ code: -32000, message: "Negative input" }]);
    expect(sqrt?.["x-errors"]).toMatchObject([
      { name: "NEGATIVE_INPUT", code: -32000, data: { properties: { x: { type: "number" } } } },
    ]);
  });

  test("a stream says what its items look like, in examples too", () => {
    const count = document.methods.find(({ name }) => name === "math/add_stream");
    expect(count?.["x-stream"]?.item).toMatchObject({ type: "integer" });
    expect(count?.examples?.[0]?.["x-stream"]).toEqual({ items: [0, 1, 2, 3, 4, 5] });
  });

  test("examples by name are in the order of the params", () => {
    const subtract = document.methods.find(({ name }) => name === "subtract");
    expect(subtract?.examples).toEqual([
      {
        name: "by position",
        params: [
          { name: "minuend", value: 42 },
          { name: "subtrahend", value: 23 },
        ],
        result: { name: "result", value: 19 },
        "x-params": [42, 23],
      },
      {
        name: "by name",
        params: [
          { name: "minuend", value: 42 },
          { name: "subtrahend", value: 23 },
        ],
        result: { name: "result", value: 19 },
      },
    ]);
  });
});

describe("schema libraries", () => {
  const valibot: DocumentOptions = {
    toJsonSchema: (schema, direction) =>
      schema["~standard"].vendor === "valibot"
        ? toJsonSchema(schema as unknown as v.GenericSchema, { typeMode: direction })
        : undefined,
  };

  test.each<[string, Methods, "either" | "by-name", DocumentOptions?]>([
    [
      "zod",
      {
        add: method(
          { params: z.object({ b: z.number(), a: z.string().optional() }), result: z.boolean() },
          () => true,
        ),
      },
      "either",
    ],
    [
      "valibot",
      {
        add: method(
          { params: v.object({ b: v.number(), a: v.optional(v.string()) }), result: v.boolean() },
          () => true,
        ),
      },
      "either",
      valibot,
    ],
    [
      "arktype",
      {
        add: method(
          { params: type({ b: "number", "a?": "string" }), result: type("boolean") },
          () => true,
        ),
      },
      "by-name",
    ],
  ])("%s", (_, methods, structure, options) => {
    const add = only(methods, options);
    const params = new Map(add.params.map((param) => [param.name, param]));
    expect(params.get("b")).toMatchObject({ required: true, schema: { type: "number" } });
    expect(params.get("a")).toMatchObject({ required: false, schema: { type: "string" } });
    expect(add.result?.schema).toMatchObject({ type: "boolean" });
    expect(add.paramStructure).toBe(structure);
  });

  test("arktype with names for positions has them in that order", () => {
    const add = only({
      add: method({ params: type({ b: "number", a: "string" }), positional: ["b", "a"] }, () => 1),
    });
    expect(add.params.map(({ name }) => name)).toEqual(["b", "a"]);
    expect(add.paramStructure).toBe("either");
  });

  test("valibot alone shows names, and what may be left out", () => {
    const add = only({
      add: method({ params: v.object({ b: v.number(), a: v.optional(v.string()) }) }, () => 1),
    });
    expect(add.params).toEqual([
      { name: "b", required: true, schema: {} },
      { name: "a", required: false, schema: {} },
    ]);
  });

  test("a member without a JSON Schema leaves the others as they are", () => {
    const at = only({
      at: method({ params: z.object({ when: z.symbol(), n: z.number() }) }, () => 1),
    });
    expect(at.params).toEqual([
      { name: "when", required: true, schema: {} },
      { name: "n", required: true, schema: { type: "number" } },
    ]);
  });

  test.each<[string, Methods, DocumentOptions?]>([
    ["zod", { f: method({ params: z.tuple([z.string(), z.number().optional()]) }, () => 1) }],
    ["arktype", { f: method({ params: type(["string", "number?"]) }, () => 1) }],
    ["valibot", { f: method({ params: v.tuple([v.string(), v.number()]) }, () => 1) }, valibot],
  ])("a tuple of %s goes by position", (library, methods, options) => {
    const f = only(methods, options);
    expect(f.paramStructure).toBe("by-position");
    expect(f.params).toMatchObject([
      { name: "arg1", required: true, schema: { type: "string" } },
      { name: "arg2", required: library === "valibot", schema: { type: "number" } },
    ]);
    expect(f["x-params"]).toBeUndefined();
  });

  test("params that cannot be listed are described as a whole", () => {
    const either = only({
      f: method({ params: z.union([z.object({ a: z.number() }), z.tuple([z.number()])]) }, () => 1),
    });
    expect(either).toMatchObject({
      params: [],
      "x-params": { anyOf: [{ type: "object" }, { type: "array" }] },
    });
    const open = only({ f: method({ params: z.looseObject({ a: z.number() }) }, () => 1) });
    expect(open).toMatchObject({ params: [{ name: "a" }], "x-params": { type: "object" } });
    const rest = only({ f: method({ params: z.array(z.number()) }, () => 1) });
    expect(rest).toMatchObject({
      paramStructure: "by-position",
      params: [],
      "x-params": { items: { type: "number" } },
    });
  });
});

describe("shared types", () => {
  const User = z
    .object({ name: z.string(), age: z.number() })
    .meta({ id: "User", description: "A user" });

  test("a type with an id becomes a component, whether it is sent or answered", () => {
    const document = documentOf({
      get: method({ params: z.object({ id: z.string() }), result: User }, () => ({
        name: "",
        age: 1,
      })),
      put: method({ params: z.object({ user: User }) }, () => 1),
      all: stream({ item: User }, function* () {}),
    });
    expect(Object.keys(schemasOf(document))).toEqual(["User"]);
    const [get, put, all] = document.methods;
    const ref = { $ref: "#/components/schemas/User" };
    expect(get?.result?.schema).toEqual(ref);
    expect(put?.params[0]?.schema).toEqual(ref);
    expect(all?.["x-stream"]?.item).toEqual(ref);
  });

  test("two types of one name stay two", () => {
    const other = z.object({ title: z.string() });
    const document = documentOf({
      a: method({ params: z.object({ user: User }) }, () => 1),
      b: method({ result: z.object({ x: z.array(other.meta({ id: "User " })) }) }, () => ({
        x: [],
      })),
    });
    expect(Object.values(schemasOf(document))).toHaveLength(2);
  });

  test("an input that differs from its output has its own name", () => {
    const Job = z.object({ n: z.number().default(1), s: z.string() }).meta({ id: "Job" });
    const document = documentOf({
      run: method({ params: z.object({ job: Job }), result: Job }, ({ job }) => job),
    });
    expect(schemasOf(document)).toMatchObject({
      Job: { required: ["s"] },
      JobOutput: { required: ["n", "s"] },
    });
  });

  test("an object that occurs in two places is shared by its form", () => {
    const point = (): z.ZodType => z.object({ x: z.number(), y: z.number() });
    const document = documentOf({
      move: method({ params: z.object({ from: point(), to: point() }), result: point() }, () => 1),
    });
    expect(Object.keys(schemasOf(document))).toEqual(["MoveFrom"]);
    const [move] = document.methods;
    expect(move?.params.map(({ schema }) => schema)).toEqual(
      Array(2).fill({ $ref: "#/components/schemas/MoveFrom" }),
    );
    expect(move?.result?.schema).toEqual({ $ref: "#/components/schemas/MoveFrom" });
  });

  test("a type that contains itself refers to itself", () => {
    const Tree = z.object({
      value: z.number(),
      get children() {
        return z.array(Tree);
      },
    });
    const document = documentOf({
      a: method({ result: Tree }, () => ({ value: 1, children: [] })),
      b: method({ params: z.object({ tree: Tree }) }, () => 1),
    });
    const text = JSON.stringify(document);
    const names = Object.keys(schemasOf(document));
    expect(names.length).toBeGreaterThan(0);
    for (const [, name] of text.matchAll(/"\$ref":"([^"]+)"/g)) {
      expect(names.map((one) => `#/components/schemas/${one}`)).toContain(name);
    }
  });

  test("a type may have any name", () => {
    for (const id of ["100%", "a b", "x/y~z"]) {
      const Named = z.object({ a: z.string(), b: z.number() }).meta({ id });
      const document = documentOf({ a: method({ result: Named }, () => ({ a: "", b: 1 })) });
      const [name] = Object.keys(schemasOf(document));
      expect(document.methods[0]?.result?.schema).toEqual({ $ref: `#/components/schemas/${name}` });
    }
  });

  test("the same methods give the same text", () => {
    expect(JSON.stringify(documentOf(demo))).toBe(JSON.stringify(documentOf(demo)));
  });
});

describe("what else is told", () => {
  test("tags, deprecation, repeatability and time", () => {
    const old = only({
      old: method({ tags: ["a", "b"], deprecated: true, idempotent: true, timeoutMs: 50 }, () => 1),
    });
    expect(old).toMatchObject({
      tags: [{ name: "a" }, { name: "b" }],
      deprecated: true,
      "x-idempotent": true,
      "x-timeout-ms": 50,
    });
  });

  test("of a plain function the names of its arguments, and which must be there", () => {
    const { methods } = documentOf({ f: (a: number, b = 1) => a + b, async *g() {} });
    expect(methods[0]).toEqual({
      name: "f",
      paramStructure: "by-position",
      params: [
        { name: "a", required: true, schema: {} },
        { name: "b", required: false, schema: { type: "number", default: 1 } },
      ],
      result: { name: "result", schema: {} },
      "x-params": {},
    });
    expect(methods[1]).toMatchObject({ name: "g", "x-stream": { item: {} } });
  });

  test.each<[source: string, names: string[], required: string[]]>([
    ["({ q, limit = 10 }) => q", ["q", "limit"], ["q"]],
    ["({ q, limit = 10 } = {}) => q", ["q", "limit"], []],
    ["({ a: { b = 1 }, c: { d } = {}, e: f = [1, 2], ...g }) => b", ["a", "c", "e"], ["a"]],
    ["({ text = '=,', sure, /* = */ also }) => sure", ["text", "sure", "also"], ["sure", "also"]],
    ["(...all) => all", [], []],
    ["(a, [b]) => a", ["arg1", "arg2"], []],
  ])("of %s which members must be there", (source, names, required) => {
    const f = new Function(`return ${source}`)() as () => unknown;
    const params = documentOf({ f }).methods[0]?.params ?? [];
    expect(params.map(({ name }) => name)).toEqual(names);
    expect(params.filter((param) => param.required).map(({ name }) => name)).toEqual(required);
  });

  test("title, version, description and servers", () => {
    const servers = [{ url: "https://example.com/rpc", name: "main" }];
    const document = documentOf({}, { title: "T", version: "1.2.3", description: "D", servers });
    expect(document.info).toEqual({ title: "T", version: "1.2.3", description: "D" });
    expect(document.servers).toEqual(servers);
    expect(documentOf({}).info).toEqual({ title: "callwire server", version: "0.0.0" });
  });

  test("a contract without handlers, and a tree of methods", () => {
    const contract = {
      math: { add: method({ params: z.object({ a: z.number() }) }) },
      f: (_: number) => 1,
    };
    const document = openrpcDocument(contract, { separator: "." });
    expect(faultsOf(document)).toEqual([]);
    expect(document.methods.map(({ name }) => name)).toEqual(["math.add", "f"]);
  });

  test("names that objects have by themselves", () => {
    const params = z.object({ ["__proto__"]: z.number(), constructor: z.string() });
    const document = documentOf({ toString: method({ params }, () => 1), ["__proto__"]: () => 1 });
    expect(document.methods.map(({ name }) => name)).toEqual(["toString", "__proto__"]);
    expect(document.methods[0]?.params.map(({ name }) => name)).toContain("constructor");
  });
});
