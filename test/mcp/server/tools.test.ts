import { Ajv2020 } from "ajv/dist/2020.js";
import { createServer, type Middleware, method, RpcError, silentLog, stream } from "callwire";
import { jsonSchema, McpError, MetaKey, mcpCall, mcpServer, text, tool } from "callwire/mcp";
import type { JsonSchemaObject } from "callwire/openrpc";
import { FakeClock } from "callwire/testing";
import * as v from "valibot";
import { expect, test } from "vitest";
import { z } from "zod";
import { ask, askModern, callTool, toolsOf } from "./asking.ts";

const info = { name: "test", version: "1.0.0", log: silentLog };

const pair = z.object({ a: z.number(), b: z.number() });

test("a method is a tool with a valid name and its contract", async () => {
  const server = mcpServer(
    {
      math: {
        add: method(
          {
            summary: "Add two numbers",
            description: "And nothing else.",
            params: pair,
            result: z.number(),
            idempotent: true,
            tool: { title: "Adder", readOnly: true },
          },
          ({ a, b }) => a + b,
        ),
      },
    },
    info,
  );
  const tools = await toolsOf(server);
  expect(tools.get("math_add")).toEqual({
    name: "math_add",
    title: "Adder",
    description: "Add two numbers\n\nAnd nothing else.",
    inputSchema: expect.objectContaining({
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
    }),
    outputSchema: {
      type: "object",
      properties: { result: { type: "number" } },
      required: ["result"],
    },
    annotations: { title: "Adder", readOnlyHint: true, idempotentHint: true },
  });
  expect(await callTool(server, "math_add", { a: 2, b: 3 })).toEqual({
    content: [{ type: "text", text: "5" }],
    structuredContent: { result: 5 },
  });
});

test("a result that is an object is structured content unchanged", async () => {
  const server = mcpServer(
    {
      find: method(
        { params: v.object({ id: v.number() }), result: z.object({ id: z.number() }) },
        ({ id }) => ({ id }),
      ),
    },
    info,
  );
  expect(await callTool(server, "find", { id: 7 })).toEqual({
    content: [{ type: "text", text: '{"id":7}' }],
    structuredContent: { id: 7 },
  });
  expect((await toolsOf(server)).get("find")?.outputSchema).toMatchObject({ type: "object" });
});

test("a plain function takes its arguments by the names in its text", async () => {
  const server = mcpServer(
    {
      add: (a: number, b: number) => a + b,
      greet: ({ name = "world" }: { name?: string } = {}) => `Hello, ${name}`,
      // Its parameter names are unknown.
      join: (...parts: string[]) => parts.join("-"),
      bound: Math.max.bind(undefined),
      nothing: () => {},
    },
    info,
  );
  const tools = await toolsOf(server);
  expect(tools.get("add")?.inputSchema).toEqual({
    type: "object",
    properties: { a: {}, b: {} },
    required: ["a", "b"],
    additionalProperties: false,
  });
  expect(tools.get("greet")?.inputSchema).toMatchObject({ properties: { name: {} } });
  expect(await callTool(server, "add", { b: 3, a: 2 })).toMatchObject({ content: [text("5")] });
  expect(await callTool(server, "greet", { name: "Ada" })).toMatchObject({
    content: [text("Hello, Ada")],
  });
  expect(await callTool(server, "join", { args: ["a", "b"] })).toMatchObject({
    content: [text("a-b")],
  });
  expect(await callTool(server, "bound", { args: [2, 3] })).toMatchObject({ content: [text("3")] });
  expect(await callTool(server, "nothing")).toEqual({ content: [text("null")] });
  for (const args of [{ a: 2 }, { a: 2, b: 3, c: 4 }]) {
    expect(await callTool(server, "add", args)).toMatchObject({ isError: true });
  }
});

test("an argument that a plain function does not have is refused, not dropped", async () => {
  let runs = 0;
  const count = (): number => ++runs;
  const server = mcpServer(
    {
      // Brackets and commas in a string do not end the parameter list.
      quoted: (a: number, c = "),(", d = 1) => count() && [a, c, d],
      object: ({ a }: { a: number }) => count() && a,
      others: ({ a, ...rest }: { a: number }) => count() && [a, rest],
      // Two destructured objects have no names.
      both: ({ a }: { a: number }, { b }: { b: number }) => count() && a + b,
      rest: (...parts: number[]) => count() && parts.length,
    },
    info,
  );
  const tools = await toolsOf(server);
  expect(tools.get("quoted")?.inputSchema).toMatchObject({ properties: { a: {}, c: {}, d: {} } });
  expect(tools.get("both")?.inputSchema).toEqual({
    type: "object",
    properties: { args: { type: "array", minItems: 2 } },
    required: ["args"],
    additionalProperties: false,
  });
  const refused: [name: string, args: object, why: string][] = [
    ["quoted", { a: 1, b: 2 }, 'there is no argument "b"'],
    ["object", { a: 1, b: 2 }, 'there is no argument "b"'],
    ["both", { a: 1 }, 'the argument "args" is missing'],
    ["both", { args: [{ a: 1 }, { b: 2 }], a: 1 }, 'there is no argument "a"'],
    ["both", { args: [{ a: 1 }] }, '"args" must have at least 2 arguments'],
    ["rest", { a: 1 }, 'there is no argument "a"'],
    ["rest", { args: "1" }, '"args" must be an array of the arguments, in order'],
  ];
  for (const [name, args, why] of refused) {
    expect(await callTool(server, name, args)).toMatchObject({
      isError: true,
      content: [text(`Invalid params: ${why}`)],
    });
  }
  expect(runs).toBe(0);
  expect(await callTool(server, "quoted", { d: 3, a: 1 })).toMatchObject({
    content: [text('[1,"),(",3]')],
  });
  expect(await callTool(server, "others", { a: 1, b: 2 })).toMatchObject({
    content: [text('[1,{"b":2}]')],
  });
  expect(await callTool(server, "both", { args: [{ a: 1 }, { b: 2 }] })).toMatchObject({
    content: [text("3")],
  });
  expect(await callTool(server, "rest")).toMatchObject({ content: [text("0")] });
});

test("names that would collide are made different, and chosen ones are kept", async () => {
  const server = mcpServer(
    {
      "a/b": () => 1,
      a_b: () => 2,
      c: method({ tool: { name: "chosen.name" } }, () => 3),
      ["x".repeat(100)]: () => 4,
      ün: () => 5,
    },
    info,
  );
  expect([...(await toolsOf(server)).keys()]).toEqual([
    "a_b",
    "a_b_2",
    "chosen.name",
    "x".repeat(64),
    "_n",
  ]);
  expect(await callTool(server, "a_b_2")).toMatchObject({ content: [text("2")] });
  const twice = {
    a: method({ tool: { name: "n" } }, () => 1),
    b: method({ tool: { name: "n" } }, () => 1),
  };
  expect(() => mcpServer(twice, info)).toThrow('tool "n" is defined twice');
  expect(() => mcpServer({ a: method({ tool: { name: "no good" } }, () => 1) }, info)).toThrow(
    "not a valid tool name",
  );
});

test("methods are offered by mark, by rule, or unless they say no", async () => {
  const methods = {
    open: () => 1,
    marked: method({ tool: true }, () => 2),
    secret: method({ tool: false }, () => 3),
  };
  expect([...(await toolsOf(mcpServer(methods, info))).keys()]).toEqual(["open", "marked"]);
  const marked = mcpServer(methods, { ...info, expose: "marked" });
  expect([...(await toolsOf(marked)).keys()]).toEqual(["marked"]);
  const chosen = mcpServer(methods, { ...info, expose: (name) => name === "open" });
  expect([...(await toolsOf(chosen)).keys()]).toEqual(["open"]);
  await expect(callTool(marked, "secret")).rejects.toMatchObject({ code: -32602 });
});

test("errors are shown to the model, those of the protocol fail the request", async () => {
  const server = mcpServer(
    {
      typed: method({ errors: { TOO_LONG: { code: 1001, data: z.number() } } }, (_, __, errors) => {
        throw errors.TOO_LONG(9);
      }),
      leak: () => {
        throw new Error("the password is 1234");
      },
      checked: method({ params: pair }, () => 1),
      broken: tool({ output: z.object({ n: z.number() }) }, () => ({ n: "one" })),
      big: () => 10n,
      items: tool({}, () => new ReadableStream()),
      refused: () => {
        throw new RpcError(-32001, "Forbidden", undefined, { status: 403 });
      },
      protocol: tool({}, () => {
        throw new McpError(-32603, "No");
      }),
    },
    info,
  );
  expect(await callTool(server, "typed")).toEqual({
    content: [text("Too long: 9")],
    isError: true,
    _meta: { [MetaKey.Error]: { code: 1001, data: 9 } },
  });
  const leak = await callTool(server, "leak");
  expect(leak).toMatchObject({ isError: true, content: [text("Internal error")] });
  const invalid = await callTool(server, "checked", { a: 1 });
  expect(invalid).toMatchObject({ isError: true });
  expect(JSON.stringify(invalid.content)).toContain("b: ");
  expect(await callTool(server, "broken")).toMatchObject({ isError: true });
  expect(await callTool(server, "big")).toMatchObject({ isError: true });
  expect(await callTool(server, "items")).toMatchObject({ isError: true });
  await expect(callTool(server, "refused")).rejects.toMatchObject({ code: -32001 });
  await expect(callTool(server, "protocol")).rejects.toMatchObject({ code: -32603 });
  await expect(callTool(server, "toString")).rejects.toMatchObject({ code: -32602 });
});

test("a stream is one result, and its items are progress", async () => {
  const server = mcpServer(
    {
      count: stream(
        { params: z.object({ to: z.number() }), item: z.number() },
        async function* ({ to }) {
          for (let i = 1; i <= to; i++) yield i;
        },
      ),
      endless: stream({}, async function* () {
        for (let i = 0; ; i++) yield i;
      }),
    },
    info,
  );
  expect(await callTool(server, "count", { to: 3 })).toEqual({
    content: [text("[1,2,3]")],
    structuredContent: { result: [1, 2, 3] },
  });
  const { structuredContent } = await callTool(server, "endless");
  expect((structuredContent as { result: number[] }).result).toHaveLength(10_000);
});

test("schemas that refer to themselves do so inside of the object around a result, too", async () => {
  const leaf = z.object({ name: z.string(), default: z.string().optional() }).meta({ id: "Leaf" });
  const tree = z.object({
    leaf,
    default: leaf.optional(),
    get inner() {
      return z.array(tree);
    },
  });
  const oak = { leaf: { name: "a" }, inner: [{ leaf: { name: "b" }, inner: [] }] };
  const server = mcpServer(
    {
      one: method({ result: tree }, () => oak),
      all: method({ result: z.array(tree) }, () => [oak]),
      each: stream({ item: tree }, async function* () {
        yield oak;
      }),
      plant: method({ params: z.tuple([tree]) }, () => {}),
    },
    info,
  );
  const tools = await toolsOf(server);
  const isPlanted = new Ajv2020().compile(tools.get("plant")?.inputSchema as object);
  expect(
    [{ args: [oak] }, { args: [{ ...oak, inner: [1] }] }].map((each) => isPlanted(each)),
  ).toEqual([true, false]);
  tools.delete("plant");
  for (const [name, { outputSchema }] of tools) {
    const { structuredContent } = await callTool(server, name);
    const isValid = new Ajv2020().compile(outputSchema as object);
    expect(isValid(structuredContent)).toBe(true);
    const text = JSON.stringify(structuredContent);
    for (const wrong of [text.replace('"b"', "1"), text.replace('"inner":[]', '"inner":{}')]) {
      expect(isValid(JSON.parse(wrong)), `${name} ${wrong}`).toBe(false);
    }
  }
});

test("a truncated stream is marked in its text and in its data", async () => {
  const most = 10_000;
  let isStopped = false;
  const server = mcpServer(
    {
      count: stream(
        { params: z.object({ to: z.number() }), item: z.number() },
        async function* ({ to }) {
          try {
            for (let i = 1; i <= to; i++) yield i;
          } finally {
            isStopped = true;
          }
        },
      ),
    },
    info,
  );
  const outputSchema = (await toolsOf(server)).get("count")?.outputSchema as JsonSchemaObject;
  const fits = async ({ structuredContent }: { structuredContent?: unknown }) =>
    (await jsonSchema(outputSchema)["~standard"].validate(structuredContent)).issues === undefined;

  const whole = await callTool(server, "count", { to: most });
  expect(whole.content).toHaveLength(1);
  expect(Object.keys(whole.structuredContent as object)).toEqual(["result"]);
  expect(await fits(whole)).toBe(true);

  isStopped = false;
  const cut = await callTool(server, "count", { to: Number.MAX_SAFE_INTEGER });
  expect(isStopped).toBe(true);
  const [list, notice, ...more] = cut.content as { text: string }[];
  expect(JSON.parse(list?.text ?? "")).toHaveLength(most);
  expect(notice).toEqual(text("The list is not complete: the stream was cut after 10000 items."));
  expect(more).toEqual([]);
  expect(cut.structuredContent).toMatchObject({ cutAfter: most });
  expect((cut.structuredContent as { result: number[] }).result.at(-1)).toBe(most);
  expect(cut.isError).toBeUndefined();
  expect(await fits(cut)).toBe(true);
  expect(outputSchema).toMatchObject({
    properties: { cutAfter: { type: "integer" } },
    required: ["result"],
  });
});

test("plain JSON Schema is checked and shown unchanged", async () => {
  const input = {
    type: "object",
    properties: { n: { type: "integer", minimum: 1 } },
    required: ["n"],
    additionalProperties: false,
  } as const;
  const server = mcpServer({ twice: tool({ input }, ({ n }) => `${Number(n) * 2}`) }, info);
  expect((await toolsOf(server)).get("twice")?.inputSchema).toEqual(input);
  expect(await callTool(server, "twice", { n: 4 })).toEqual({ content: [text("8")] });
  expect(await callTool(server, "twice", { n: 0 })).toMatchObject({ isError: true });
  expect(await callTool(server, "twice", { n: 1, m: 1 })).toMatchObject({ isError: true });
});

const seen: string[] = [];
const roles: Middleware = Object.assign(
  ((next) => (request, context) => {
    seen.push(request.method);
    return next(request, context);
  }) as Middleware,
  { visible: (name: string) => name !== "math/secret" },
);

test("middleware sees methods under their own names, and lists show only what it allows", async () => {
  const methods = { math: { add: (a: number, b: number) => a + b, secret: () => 1 } };
  for (const server of [
    mcpServer(methods, { ...info, use: [roles] }),
    mcpServer(createServer(methods, { use: [roles] }), info),
  ]) {
    seen.length = 0;
    expect([...(await toolsOf(server)).keys()]).toEqual(["math_add"]);
    expect(await callTool(server, "math_add", { a: 1, b: 2 })).toMatchObject({
      content: [text("3")],
    });
    expect(seen).toEqual(["math/add"]);
  }
});

test("a method can see whether an agent called it", async () => {
  const methods = {
    who: method({}, (_, call) => mcpCall(call)?.client.revision ?? "not an agent"),
  };
  const rpc = createServer(methods);
  const agents = mcpServer(rpc, info);
  expect(await callTool(agents, "who")).toMatchObject({ content: [text("2025-11-25")] });
  const { result } = await askModern(agents, "tools/call", { name: "who" });
  expect(result).toMatchObject({ resultType: "complete", content: [text("2026-07-28")] });
  expect(await rpc.receive('{"jsonrpc":"2.0","method":"who","id":1}')).toContain("not an agent");
});

test("lists have pages, and a made-up cursor is refused", async () => {
  const methods = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`t${i}`, () => i]));
  const server = mcpServer(methods, { ...info, pageSize: 2 });
  const names: string[] = [];
  let cursor: unknown = "";
  while (cursor !== undefined) {
    const { result } = await ask(server, "tools/list", { cursor });
    const { tools, nextCursor } = result as { tools: { name: string }[]; nextCursor?: string };
    names.push(...tools.map(({ name }) => name));
    cursor = nextCursor;
  }
  expect(names).toEqual(["t0", "t1", "t2", "t3", "t4"]);
  const { error } = await ask(server, "tools/list", { cursor: "mine" });
  expect(error?.code).toBe(-32602);
});

test("arguments that are left out get the defaults of the schema", async () => {
  const required = z.object({ x: z.string() });
  const server = mcpServer(
    {
      whole: method({ params: required.default({ x: "whole" }) }, ({ x }) => x),
      list: method({ params: z.tuple([z.string()]).default(["list"]) }, ([x]) => x),
      needed: method({ params: required }, ({ x }) => x),
      plain: (a: unknown, b: unknown = "b") => `${typeof a} ${b}`,
      free: method({}, (params) => JSON.stringify(params)),
    },
    info,
  );
  const of = async (name: string, args?: object): Promise<unknown> => {
    const { content } = await callTool(server, name, args);
    return (content as { text: string }[])[0]?.text;
  };
  expect(await of("whole")).toBe("whole");
  expect(await of("whole", {})).toContain("x: ");
  expect(await of("list")).toBe("list");
  expect(await of("list", {})).toBe("list");
  expect(await of("list", { args: ["given"] })).toBe("given");
  expect(await of("list", { args: "no list" })).toContain("positional params only");
  expect(await of("needed")).toContain("x: ");
  expect(await of("plain")).toContain('"a" is missing');
  expect(await of("free")).toBe("{}");
});

test("methods of a server run no longer for agents than the server says", async () => {
  const limitOf = async (own: number | undefined, agents: number | undefined): Promise<number> => {
    const clock = new FakeClock();
    const deadlines: (number | undefined)[] = [];
    const methods = {
      usual: method({}, (_, call) => void deadlines.push(call.deadline)),
      longer: method({ timeoutMs: 7_000 }, (_, call) => void deadlines.push(call.deadline)),
    };
    const rpc = createServer(methods, own === undefined ? {} : { timeoutMs: own });
    const server = mcpServer(rpc, {
      ...info,
      clock,
      ...(agents !== undefined && { timeoutMs: agents }),
    });
    await callTool(server, "usual");
    await callTool(server, "longer");
    expect(deadlines[1]).toBe(7_000);
    return Number(deadlines[0]);
  };
  expect(await limitOf(undefined, undefined)).toBe(600_000);
  expect(await limitOf(1_000, undefined)).toBe(1_000);
  expect(await limitOf(1_000, 5_000)).toBe(5_000);
  expect(await limitOf(undefined, 5_000)).toBe(5_000);

  const clock = new FakeClock();
  const rpc = createServer({ stuck: () => new Promise(() => {}) }, { timeoutMs: 1_000 });
  const server = mcpServer(rpc, { ...info, clock });
  const answer = ask(server, "tools/call", { name: "stuck" });
  clock.advance(1_020);
  expect(await answer).toMatchObject({ error: { code: -32003 } });
});
