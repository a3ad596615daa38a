import { createServer, type Methods, method, stream } from "callwire";
import { compareDocuments, openrpcDocument } from "callwire/openrpc";
import { describe, expect, test } from "vitest";
import { z } from "zod";

function documentOf(methods: Methods) {
  return openrpcDocument(createServer(methods).methods);
}

/** The changes, as lines: `BREAKS kind path`. */
function changes(before: Methods, after: Methods): string[] {
  return compareDocuments(documentOf(before), documentOf(after)).map(
    ({ breaking, kind, method: name, path = "" }) =>
      `${breaking ? "BREAKS" : "ok"} ${name} ${kind} ${path}`.trimEnd(),
  );
}

const params = (shape: z.ZodRawShape) => ({ m: method({ params: z.object(shape) }, () => null) });
const result = (schema: z.ZodType) => ({ m: method({ result: schema }, () => null as never) });

test("the same document has no changes", () => {
  const methods = {
    ...params({ a: z.string(), b: z.enum(["x", "y"]).optional() }),
    s: stream({ item: z.object({ n: z.number() }) }, function* () {}),
  };
  expect(changes(methods, methods)).toEqual([]);
});

describe("methods", () => {
  const get = method({ params: z.object({ id: z.string() }), result: z.number() }, () => 1);

  test("that were removed break callers, and new ones do not", () => {
    expect(changes({ get, old: () => 1 }, { get, fresh: (a: number) => a })).toEqual([
      "BREAKS old method-removed",
      "ok fresh method-added",
    ]);
  });

  test("that have another name are found by their params and results", () => {
    const [change] = compareDocuments(documentOf({ get }), documentOf({ fetch: get }));
    expect(change).toEqual({
      kind: "method-renamed",
      breaking: true,
      method: "get",
      message: "was renamed to fetch",
    });
  });

  test("that become streams, or are no longer idempotent, break callers", () => {
    const m = method({ idempotent: true }, () => 1);
    expect(changes({ m }, { m: stream({}, function* () {}) })).toEqual(["BREAKS m method-kind"]);
    expect(changes({ m }, { m: method({}, () => 1) })).toEqual(["BREAKS m not-idempotent"]);
    expect(changes({ m }, { m: method({ idempotent: true, deprecated: true }, () => 1) })).toEqual([
      "ok m method-deprecated",
    ]);
  });
});

describe("params", () => {
  test.each<[string, z.ZodRawShape, z.ZodRawShape, string[]]>([
    ["a new optional one", { a: z.string() }, { a: z.string(), b: z.string().optional() }, []],
    ["one that became optional", { a: z.string() }, { a: z.string().optional() }, []],
    ["a wider type", { a: z.string() }, { a: z.union([z.string(), z.number()]) }, []],
    ["integers that became numbers", { a: z.int() }, { a: z.number() }, []],
    ["more allowed values", { a: z.enum(["x"]) }, { a: z.enum(["x", "y"]) }, []],
    ["values of a string that became any", { a: z.enum(["x"]) }, { a: z.string() }, []],
    ["a looser bound", { a: z.string().max(5) }, { a: z.string().max(9) }, []],
  ])("%s breaks no caller", (_, before, after, expected) => {
    expect(changes(params(before), params(after))).toEqual(expected);
  });

  test.each<[string, z.ZodRawShape, z.ZodRawShape, string]>([
    [
      "a new required one",
      { a: z.string() },
      { a: z.string(), b: z.string() },
      "param-required params.b",
    ],
    [
      "one that became required",
      { a: z.string().optional() },
      { a: z.string() },
      "param-required params.a",
    ],
    ["another type", { a: z.string() }, { a: z.number() }, "param-narrower params.a"],
    [
      "a narrower type",
      { a: z.union([z.string(), z.number()]) },
      { a: z.string() },
      "param-narrower params.a",
    ],
    [
      "fewer allowed values",
      { a: z.enum(["x", "y"]) },
      { a: z.enum(["x"]) },
      "param-narrower params.a",
    ],
    [
      "allowed values of what was any string",
      { a: z.string() },
      { a: z.enum(["x"]) },
      "param-narrower params.a",
    ],
    ["a stricter bound", { a: z.string() }, { a: z.string().max(9) }, "param-narrower params.a"],
    [
      "a stricter lower bound",
      { a: z.string() },
      { a: z.string().min(1) },
      "param-narrower params.a",
    ],
    ["a pattern", { a: z.string() }, { a: z.string().regex(/^a/) }, "param-narrower params.a"],
    [
      "a member inside that became required",
      { a: z.object({}) },
      { a: z.object({ b: z.string() }) },
      "param-required params.a.b",
    ],
    [
      "other items",
      { a: z.array(z.string()) },
      { a: z.array(z.number()) },
      "param-narrower params.a[]",
    ],
  ])("%s breaks callers", (_, before, after, expected) => {
    expect(changes(params(before), params(after))).toEqual([`BREAKS m ${expected}`]);
  });

  test("that were removed break callers that send them", () => {
    const found = changes(params({ a: z.string(), b: z.string() }), params({ a: z.string() }));
    expect(found).toEqual(["BREAKS m param-narrower params.b"]);
  });

  test("in another order break callers by position", () => {
    const before = { m: (a: number, b: number) => a - b };
    const after = { m: (b: number, a: number) => a - b };
    expect(changes(before, after)).toEqual(["BREAKS m param-order"]);
  });
});

describe("results", () => {
  const task = z.object({ id: z.string(), done: z.boolean() });

  test("with more members, or fewer values, break no caller", () => {
    expect(changes(result(task), result(task.extend({ due: z.string() })))).toEqual([]);
    expect(changes(result(z.enum(["x", "y"])), result(z.enum(["x"])))).toEqual([]);
    expect(changes(result(z.nullable(task)), result(task))).toEqual([]);
  });

  test("that lack a member, or have other values, break callers", () => {
    expect(changes(result(task), result(z.object({ id: z.string() })))).toEqual([
      "BREAKS m result-wider result.done",
    ]);
    expect(changes(result(task), result(task.partial()))).toEqual([
      "BREAKS m result-wider result.id",
      "BREAKS m result-wider result.done",
    ]);
    expect(changes(result(z.enum(["x"])), result(z.enum(["x", "y"])))).toEqual([
      "BREAKS m result-wider result",
    ]);
    expect(changes(result(task), result(z.nullable(task)))).toEqual([
      "BREAKS m result-wider result",
    ]);
  });

  test("of streams are their items", () => {
    const before = { s: stream({ item: z.number() }, function* () {}) };
    const after = { s: stream({ item: z.string() }, function* () {}) };
    expect(changes(before, after)).toEqual(["BREAKS s item-wider item"]);
  });

  test("that contain themselves are compared", () => {
    const tree = (leaf: z.ZodType) => {
      const node: z.ZodType = z
        .lazy(() => z.object({ leaf, children: z.array(node) }))
        .meta({ id: "Node" });
      return node;
    };
    expect(changes(result(tree(z.string())), result(tree(z.string())))).toEqual([]);
    const found = changes(result(tree(z.string())), result(tree(z.number())));
    expect(found[0]).toMatch(/^BREAKS m result-wider result/);
  });
});

test("an error with another code breaks callers; a new or removed one does not", () => {
  const errors = { GONE: { code: 1404 }, OLD: { code: 1001 } } as const;
  const before = { m: method({ errors }, () => 1) };
  const after = { m: method({ errors: { GONE: { code: 1410 }, NEW: { code: 1002 } } }, () => 1) };
  expect(changes(before, after)).toEqual([
    "BREAKS m error-code",
    "ok m error-removed",
    "ok m error-added",
  ]);
});

test("errors that have no names, as those of other servers, are compared by their messages", () => {
  const withErrors = (...errors: readonly { code: number; message: string }[]) => {
    const document = documentOf({ m: method({}, () => 1) });
    return { ...document, methods: document.methods.map((own) => ({ ...own, errors })) };
  };
  const busy = { code: 1500, message: "Server error" };
  const before = withErrors({ code: 1404, message: "Not found" }, busy, { ...busy, code: 1501 });
  const after = withErrors({ code: 1410, message: "Not found" }, busy, { ...busy, code: 1501 });
  expect(compareDocuments(before, before)).toEqual([]);
  expect(compareDocuments(before, after)).toEqual([
    {
      kind: "error-code",
      breaking: true,
      method: "m",
      message: 'the error "Not found" has the code 1410, not 1404',
    },
  ]);
});
