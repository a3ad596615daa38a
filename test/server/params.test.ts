import { type } from "arktype";
import { createServer, method, type Schema } from "callwire";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ask, issuesOf, RecordingLog, requestText } from "./asking.ts";

interface Library {
  readonly name: string;
  /** `from` and `to`, both numbers, in an order that is not the alphabet's. */
  readonly range: Schema;
  /** `name`, `greeting` with the default "Hello", and an optional `title`. */
  readonly greeting: Schema;
  /** `{ user: { age: number } }` */
  readonly nested: Schema;
  /** A string and a number. */
  readonly pair: Schema;
  /** `text` as a string that becomes a number. */
  readonly parsed: Schema;
  /** If the library does not reveal the order of its members. */
  readonly positional: boolean;
}

const libraries: readonly Library[] = [
  {
    name: "zod",
    range: z.object({ to: z.number(), from: z.number() }),
    greeting: z.object({
      name: z.string(),
      greeting: z.string().default("Hello"),
      title: z.string().optional(),
    }),
    nested: z.object({ user: z.object({ age: z.number() }) }),
    pair: z.tuple([z.string(), z.number()]),
    parsed: z.object({ text: z.string().transform(Number) }),
    positional: false,
  },
  {
    name: "valibot",
    range: v.object({ to: v.number(), from: v.number() }),
    greeting: v.object({
      name: v.string(),
      greeting: v.optional(v.string(), "Hello"),
      title: v.optional(v.string()),
    }),
    nested: v.object({ user: v.object({ age: v.number() }) }),
    pair: v.tuple([v.string(), v.number()]),
    parsed: v.object({ text: v.pipe(v.string(), v.transform(Number)) }),
    positional: false,
  },
  {
    name: "arktype",
    range: type({ to: "number", from: "number" }),
    greeting: type({ name: "string", greeting: "string = 'Hello'", "title?": "string" }),
    nested: type({ user: { age: "number" } }),
    pair: type(["string", "number"]),
    parsed: type({ text: "string.numeric.parse" }),
    positional: true,
  },
];

describe.each(libraries)("params with $name", (library) => {
  const order = (...positional: string[]) => (library.positional ? { positional } : {});
  const server = createServer({
    span: method({ params: library.range, ...order("to", "from") }, (params) => {
      const { from, to } = params as { from: number; to: number };
      return to - from;
    }),
    greet: method(
      { params: library.greeting, ...order("name", "greeting", "title") },
      (params) => params,
    ),
    nested: method({ params: library.nested }, (params) => params),
    pair: method({ params: library.pair }, (params) => params),
    parse: method({ params: library.parsed }, (params) => params),
  });

  test("are taken by name", async () => {
    expect(await ask(server, "span", { from: 2, to: 5 })).toMatchObject({ result: 3 });
  });

  test("are taken by position, in the order of the definition", async () => {
    expect(await ask(server, "span", [5, 2])).toMatchObject({ result: 3 });
  });

  test("need no promise where the schema needs none", () => {
    const text = '{"jsonrpc":"2.0","method":"span","params":[5,2],"id":1}';
    expect(server.receive(text)).toBe('{"jsonrpc":"2.0","result":3,"id":1}');
  });

  test("get their defaults, by name and by position", async () => {
    const result = { name: "Ada", greeting: "Hello" };
    expect(await ask(server, "greet", { name: "Ada" })).toMatchObject({ result });
    expect(await ask(server, "greet", ["Ada"])).toMatchObject({ result });
  });

  test("may leave out what is optional, by name and by position", async () => {
    const full = { name: "Ada", greeting: "Hi", title: "Lady" };
    expect(await ask(server, "greet", full)).toMatchObject({ result: full });
    expect(await ask(server, "greet", ["Ada", "Hi", "Lady"])).toMatchObject({ result: full });
    const { result } = await ask(server, "greet", ["Ada", "Hi"]);
    expect(result).toEqual({ name: "Ada", greeting: "Hi" });
  });

  test("of the wrong type are refused with their path and a message", async () => {
    for (const params of [{ from: "2", to: 5 }, [5, "2"]]) {
      const response = await ask(server, "span", params);
      expect(response.error).toMatchObject({ code: -32602, message: "Invalid params" });
      const issues = issuesOf(response);
      expect(issues).toEqual([{ path: ["from"], message: expect.stringContaining("number") }]);
      expect(response.error?.data).toHaveProperty("details", `from: ${issues[0]?.message}`);
    }
  });

  test("that are missing are refused with their path", async () => {
    for (const params of [{ to: 5 }, [5]]) {
      const response = await ask(server, "span", params);
      expect(response.error).toMatchObject({ code: -32602 });
      expect(issuesOf(response).map(({ path }) => path)).toEqual([["from"]]);
    }
  });

  test("that are missing are all reported together", async () => {
    for (const params of [undefined, {}, []]) {
      const response = await ask(server, "span", params);
      expect(response.error).toMatchObject({ code: -32602 });
      const paths = issuesOf(response).map(({ path }) => String(path));
      expect(paths.sort()).toEqual(["from", "to"]);
    }
  });

  test("that are too many are refused", async () => {
    const response = await ask(server, "span", [5, 2, 1]);
    expect(response.error).toMatchObject({
      code: -32602,
      data: { details: "this method takes at most 2 params, not 3" },
    });
  });

  test("are reported by their whole path", async () => {
    const response = await ask(server, "nested", { user: { age: "old" } });
    expect(issuesOf(response).map(({ path }) => path)).toEqual([["user", "age"]]);
    expect(response.error?.data).toHaveProperty("details", expect.stringMatching(/^user\.age: /));
  });

  test("of a tuple are taken by position only", async () => {
    expect(await ask(server, "pair", ["Ada", 36])).toMatchObject({ result: ["Ada", 36] });
    expect(await ask(server, "pair", { 0: "Ada", 1: 36 })).toMatchObject({
      error: { code: -32602, data: { details: "this method takes positional params only" } },
    });
  });

  test("of a tuple are reported by their position", async () => {
    const response = await ask(server, "pair", ["Ada", "36"]);
    expect(response.error).toMatchObject({ code: -32602 });
    expect(issuesOf(response).map(({ path }) => path)).toEqual([[1]]);
    expect(await ask(server, "pair")).toMatchObject({ error: { code: -32602 } });
  });

  test("reach the handler as the schema transformed them", async () => {
    expect(await ask(server, "parse", { text: "42" })).toMatchObject({ result: { text: 42 } });
    expect(await ask(server, "parse", ["42"])).toMatchObject({ result: { text: 42 } });
  });
});

describe("schemas that take time", () => {
  const taken = async (name: string) => name !== "taken";
  const server = createServer({
    zod: method({ params: z.object({ name: z.string().refine(taken, "taken") }) }, (p) => p.name),
    valibot: method(
      { params: v.objectAsync({ name: v.pipeAsync(v.string(), v.checkAsync(taken, "taken")) }) },
      (p) => p.name,
    ),
  });

  test.each(["zod", "valibot"])(
    "%s: valid params are taken by name and by position",
    async (name) => {
      expect(await ask(server, name, { name: "free" })).toMatchObject({ result: "free" });
      expect(await ask(server, name, ["free"])).toMatchObject({ result: "free" });
    },
  );

  test.each(["zod", "valibot"])("%s: invalid params are refused", async (name) => {
    expect(await ask(server, name, ["taken"])).toMatchObject({
      error: { code: -32602, data: { issues: [{ path: ["name"], message: "taken" }] } },
    });
  });

  test("a schema that fails itself is an internal error, and its text is logged only", async () => {
    const log = new RecordingLog();
    const raise = (_: object): never => {
      throw new Error("secret");
    };
    const breaking = createServer(
      {
        later: method(
          {
            params: v.pipeAsync(
              v.objectAsync({}),
              v.checkAsync(async (value: object) => raise(value)),
            ),
          },
          () => 1,
        ),
        now: method({ params: v.pipe(v.object({}), v.check(raise)) }, () => 1),
      },
      { log },
    );
    const failure = '{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":1}';
    expect(await breaking.receive(requestText("later"))).toBe(failure);
    expect(breaking.receive(requestText("now"))).toBe(failure);
    expect(log.entries.map(({ fields }) => fields["err"])).toEqual(
      Array(2).fill(new Error("secret")),
    );
  });
});

test("positional names can be given if the schema does not have them", async () => {
  const schema = z.record(z.string(), z.number());
  const server = createServer({
    named: method({ params: schema }, (params) => params),
    listed: method({ params: schema, positional: ["x", "y"] }, (params) => params),
  });
  expect(await ask(server, "listed", [1, 2])).toMatchObject({ result: { x: 1, y: 2 } });
  expect(await ask(server, "listed", [1, 2, 3])).toMatchObject({ error: { code: -32602 } });
  expect(await ask(server, "named", { x: 1 })).toMatchObject({ result: { x: 1 } });
  expect(await ask(server, "named", [1, 2])).toMatchObject({
    error: { code: -32602, data: { details: "this method takes named params only" } },
  });
});

test("members of a schema without a JSON Schema are still found", async () => {
  const params = z.object({ label: z.string(), date: z.date().optional() });
  const server = createServer({ label: method({ params }, ({ label }) => label) });
  expect(await ask(server, "label", ["x"])).toMatchObject({ result: "x" });
});

describe("params that are left out", () => {
  const required = z.object({ x: z.string() });
  const later = (schema: z.ZodType) => schema.refine(async () => true);
  const served = {
    whole: method({ params: required.default({ x: "whole" }) }, (params) => params),
    valibot: method(
      { params: v.optional(v.object({ x: v.string() }), { x: "valibot" }) },
      (params) => params,
    ),
    prefault: method({ params: required.prefault({ x: "prefault" }) }, (params) => params),
    optional: method({ params: required.optional() }, (params) => ({ got: typeof params })),
    members: method({ params: z.object({ x: z.string().default("member") }).optional() }, (p) => p),
    list: method({ params: z.tuple([z.string()]).default(["list"]) }, (params) => params),
    named: method({ params: required.default({ x: "named" }), positional: ["x"] }, (p) => p),
    later: method({ params: later(required.default({ x: "later" })) }, (params) => params),
    needed: method({ params: required }, (params) => params),
    neededLater: method({ params: later(required) }, (params) => params),
    pair: method({ params: z.tuple([z.string(), z.number()]) }, (params) => params),
  };

  test.each([
    ["whole", { x: "whole" }],
    ["valibot", { x: "valibot" }],
    ["prefault", { x: "prefault" }],
    ["optional", { got: "undefined" }],
    ["members", { x: "member" }],
    ["list", ["list"]],
    ["named", { x: "named" }],
    ["later", { x: "later" }],
  ])("are what the schema says of none: %s", async (name, result) => {
    expect((await ask(createServer(served), name)).result).toEqual(result);
    const nulls = createServer(served, { nullParams: "omit" });
    expect((await ask(nulls, name, null)).result).toEqual(result);
  });

  test("are not params that were left empty", async () => {
    const server = createServer(served);
    expect(issuesOf(await ask(server, "whole", {}))).toMatchObject([{ path: ["x"] }]);
    expect((await ask(server, "list", [])).error).toMatchObject({ code: -32602 });
  });

  test("are reported as missing if they are required", async () => {
    const server = createServer(served);
    for (const name of ["needed", "neededLater"]) {
      expect(issuesOf(await ask(server, name))).toMatchObject([{ path: ["x"] }]);
    }
    expect((await ask(server, "pair")).error).toMatchObject({ code: -32602 });
  });

  test("are refused in peace by a check that looks into them", async () => {
    const issue = { message: "x is missing" };
    const validate = (value: unknown) =>
      (value as { x?: unknown }).x === undefined ? { issues: [issue] } : { value };
    for (const check of [validate, async (value: unknown) => validate(value)]) {
      const params: Schema = { "~standard": { version: 1, vendor: "test", validate: check } };
      const server = createServer({ m: method({ params }, () => 1) }, { log: new RecordingLog() });
      expect(issuesOf(await ask(server, "m"))).toMatchObject([issue]);
    }
  });
});

test("an array schema takes any number of params", async () => {
  const server = createServer({
    zod: method({ params: z.array(z.number()) }, (numbers) => numbers.length),
    valibot: method({ params: v.array(v.number()) }, (numbers) => numbers.length),
  });
  expect(await ask(server, "zod", [1, 2, 3])).toMatchObject({ result: 3 });
  expect(await ask(server, "valibot", [1, 2, 3])).toMatchObject({ result: 3 });
  expect(await ask(server, "zod")).toMatchObject({ result: 0 });
});

test("an object without members takes no positional params", async () => {
  const server = createServer({ none: method({ params: z.object({}) }, () => "ok") });
  expect(await ask(server, "none")).toMatchObject({ result: "ok" });
  expect(await ask(server, "none", [])).toMatchObject({ result: "ok" });
  expect(await ask(server, "none", [1])).toMatchObject({
    error: { code: -32602, data: { details: "this method takes at most 0 params, not 1" } },
  });
});

test("without a schema the handler gets what was sent", async () => {
  const server = createServer({ raw: method({}, (params) => ({ got: params ?? "nothing" })) });
  expect(await ask(server, "raw", [1, 2])).toMatchObject({ result: { got: [1, 2] } });
  expect(await ask(server, "raw", { a: 1 })).toMatchObject({ result: { got: { a: 1 } } });
  expect(await ask(server, "raw")).toMatchObject({ result: { got: "nothing" } });
});

test("a member called __proto__ does not reach a prototype", async () => {
  const server = createServer({
    polluted: method({ params: z.looseObject({}) }, (params) => ({
      own: Object.hasOwn(params, "polluted"),
      inherited: (params as { polluted?: unknown }).polluted !== undefined,
      everywhere: ({} as { polluted?: unknown }).polluted !== undefined,
    })),
  });
  const text = '{"jsonrpc":"2.0","method":"polluted","params":{"__proto__":{"polluted":1}},"id":1}';
  expect(await server.receive(text)).toBe(
    '{"jsonrpc":"2.0","result":{"own":false,"inherited":false,"everywhere":false},"id":1}',
  );
});

test("positions may be named without a schema", () => {
  const server = createServer({
    join: method({ positional: ["left", "right"] }, (params) => params),
  });
  expect(server.receive('{"jsonrpc":"2.0","method":"join","params":[1,2],"id":1}')).toBe(
    '{"jsonrpc":"2.0","result":{"left":1,"right":2},"id":1}',
  );
  expect(server.receive('{"jsonrpc":"2.0","method":"join","params":[1,2,3],"id":1}')).toContain(
    "at most 2 params",
  );
});
