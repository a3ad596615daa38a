/** The types in the source of a plain function, as callers and agents see them. */
import { writeFile } from "node:fs/promises";
import { mcpClient, mcpStdioLink } from "callwire/mcp/client";
import type { JsonSchemaObject, OpenrpcDocument } from "callwire/openrpc";
import { describe, expect, test } from "vitest";
import { builtWithFolder } from "./folder.ts";
import { cli, start } from "./process.ts";

const inFolder = builtWithFolder();

const number = { type: "number" };
const string = { type: "string" };

/** Served for agents by one command. */
async function served(name: string, source: string) {
  await writeFile(inFolder(name), source);
  const link = mcpStdioLink(process.execPath, [cli, "serve", inFolder(name), "--mcp"]);
  // A process may take long to start.
  return mcpClient(link, { name: "test", version: "1", probeMs: 50_000 });
}

async function inputsOf(name: string, source: string): Promise<Map<string, JsonSchemaObject>> {
  await using agent = await served(name, source);
  const inputs = new Map<string, JsonSchemaObject>();
  for await (const tool of agent.tools()) inputs.set(tool.name, tool.inputSchema);
  return inputs;
}

/** Answers of the same module to JSON-RPC. */
async function answers(name: string, source: string, lines: readonly object[]): Promise<unknown[]> {
  await writeFile(inFolder(name), source);
  await using server = start(["serve", inFolder(name), "--stdio"]);
  const sent = lines.map((line, id) => JSON.stringify({ jsonrpc: "2.0", id, ...line }));
  server.child.stdin?.end(`${sent.join("\n")}\n`);
  const { stdout } = await server.exited;
  const replies = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return replies.sort((a, b) => a.id - b.id).map(({ result }) => result);
}

async function documentOf(name: string, source: string): Promise<OpenrpcDocument> {
  const [document] = await answers(name, source, [{ method: "rpc.discover" }]);
  return document as OpenrpcDocument;
}

/** Types as they are written, and what is read from them. */
const types: readonly [written: string, schema: object][] = [
  ["number", number],
  ["string", string],
  ["boolean", { type: "boolean" }],
  ["object", { type: "object" }],
  ["null", { type: "null" }],
  ["string[]", { type: "array", items: string }],
  ["number[][]", { type: "array", items: { type: "array", items: number } }],
  ["Array<number>", { type: "array", items: number }],
  ["ReadonlyArray<Date>", { type: "array" }],
  ["(string | number)[]", { type: "array", items: { type: ["string", "number"] } }],
  [`"a" | 'b'`, { type: "string", enum: ["a", "b"] }],
  ["1 | -2.5 | 1", { type: "number", enum: [1, -2.5] }],
  ["number | null", { type: ["number", "null"] }],
  [
    `"all" | string[]`,
    {
      anyOf: [
        { type: "array", items: string },
        { type: "string", enum: ["all"] },
      ],
    },
  ],
  ["Record<string, number>", { type: "object" }],
  [
    `{ a: string, "b-c"?: number; readonly: boolean | undefined }`,
    {
      type: "object",
      properties: { a: string, "b-c": number, readonly: { type: "boolean" } },
      required: ["a"],
    },
  ],
  ...[
    "any",
    "unknown",
    "Date",
    "string | Date",
    "Map<string, number>",
    "Some.Name",
    "() => void",
    "(a: number) => string",
    "[number, string]",
    "keyof Date",
    `Date["toJSON"]`,
    "{ a: string } & { b: string }",
    "{ [name: string]: number }",
    "{ a: keyof Date; b: string }",
    "`a$" + "{string}`",
    `"a\\n"`,
  ].map((written): [string, object] => [written, {}]),
];

const argument = ([, schema]: (typeof types)[number], i: number): [string, unknown] => [
  `f${i}`,
  { type: "object", properties: { x: schema }, required: ["x"], additionalProperties: false },
];

describe("types", () => {
  test("in doc comments", async () => {
    const source = types.map(
      ([written], i) => `/** @param {${written}} x */\nexport function f${i}(x) {}`,
    );
    const inputs = await inputsOf("commented.mjs", source.join("\n"));
    expect(Object.fromEntries(inputs)).toEqual(Object.fromEntries(types.map(argument)));
  });

  test("in annotations", async () => {
    const source = types.map(([written], i) => `export function f${i}(x: ${written}) {}`);
    const inputs = await inputsOf("annotated.ts", source.join("\n"));
    expect(Object.fromEntries(inputs)).toEqual(Object.fromEntries(types.map(argument)));
  });

  test("in doc comments of Closure's kind", async () => {
    const inputs = await inputsOf(
      "closure.mjs",
      `/** Does. @param {Array.<string>} a One. @param {?number} b @param {!Object} c
        * @param {integer} d @param {*} e @param {String} f */
       export const all = (a, b, c, d, e, f) => 1;`,
    );
    expect(inputs.get("all")?.properties).toEqual({
      a: { type: "array", items: string, description: "One." },
      b: { type: ["number", "null"] },
      c: { type: "object" },
      d: { type: "integer" },
      e: {},
      f: string,
    });
  });

  test("in annotations, wherever a function of the module is", async () => {
    const inputs = await inputsOf(
      "places.ts",
      `/** Adds. @param {string} a The first. */
       function declared(a: number, b: Date) { return a; }
       /** @param b: The second. */
       const arrow = async <T,>(a: T, b: number): Promise<T> => a;
       export const methods = {
         declared,
         arrow,
         group: { async *"quoted"(a: number) { yield a; }, member: function (a: number) {} } as const,
         // Two declarations of one name: nothing is known about it.
         twice: (a: number) => a,
         text: { twice: (a: string) => a },
         overloaded,
         inner: (a) => { function arrow(a: string) {} return a; },
       } satisfies object;
       function overloaded(a: number): void;
       function overloaded(a: string): void;
       function overloaded(a: unknown) {}`,
    );
    const told = [...inputs].map(([name, { properties }]) => [name, properties]);
    expect(Object.fromEntries(told)).toEqual({
      declared: { a: { ...number, description: "The first." }, b: {} },
      arrow: { a: {}, b: { ...number, description: "The second." } },
      group_quoted: { a: number },
      group_member: { a: number },
      twice: { a: {} },
      text_twice: { a: {} },
      overloaded: { a: {} },
      inner: { a: {} },
    });
  });

  test("that cannot be read do no harm", async () => {
    const deep = "(".repeat(50_000);
    const inputs = await inputsOf(
      "harmless.mjs",
      `/** @param {${deep}} a
        * @param {{ b: number c
        * @param {number} __proto__
        * @param {} d
        * @param {number} d.e.f
        * @param
        * @returns {
        */
       export const f = (a, b, constructor, d, f) => 1;`,
    );
    expect(inputs.get("f")?.properties).toEqual({ a: {}, b: {}, constructor: {}, d: {}, f: {} });
  });
});

describe("required", () => {
  const required = async (name: string, source: string) =>
    Object.fromEntries(
      [...(await inputsOf(name, source))].map(([tool, input]) => [tool, input.required]),
    );

  test("is an argument without a default that no doc comment marks as optional", async () => {
    const source = `
      export const object = ({ q, limit = 10 }) => q;
      /**
       * @param {object} options
       * @param {string} options.q
       * @param {number} [options.limit]
       */
      export const members = ({ q, limit }) => q;
      /** @param {{ q: string, limit?: number }} options */
      export const inline = ({ q, limit }) => q;
      /** @param {number} a @param {number=} b @param {number} [c] @param {string} [d = [1, 2]] The last. */
      export const named = (a, b, c, d) => a;
      /** @param {string|undefined} a */
      export const union = (a, b = 1) => a;
      /** @param {number} x @param {number} [x.y] */
      export const other = (x, y) => x;`;
    expect(await required("optional.mjs", source)).toEqual({
      object: ["q"],
      members: ["q"],
      inline: ["q"],
      named: ["a"],
      union: [],
      other: ["x", "y"],
    });
  });

  test("is an argument without a default and without a question mark in its annotation", async () => {
    const source = `
      interface Options { q: string; limit?: number }
      export function named(a: number, b?: string, c: number = 1) {}
      export const union = (a: number | undefined) => a;
      export const object = ({ q, limit, page = 1 }: {
        /** The words. */
        q: string
        readonly limit?: number // Most.
        page: number
      }) => q;
      export const hidden = ({ q, limit }: Options) => q;
      export const whole = ({ q }: { q: string } = { q: "" }) => q;`;
    expect(await required("optional.ts", source)).toEqual({
      named: ["a"],
      union: [],
      object: ["q"],
      hidden: [],
      whole: [],
    });
  });
});

test("a question mark counts before a rest, too", async () => {
  const least = async (name: string, source: string) =>
    Object.fromEntries(
      Array.from(await inputsOf(name, source), ([tool, { properties = {}, required }]) => [
        tool,
        [(properties.args as JsonSchemaObject).minItems, required],
      ]),
    );
  const annotated = `
    export const opt = (a: number, b?: string, ...rest: boolean[]) => [a, b, rest];
    export const bare = (a?, ...rest) => [a, rest];
    export const all = (a: number, b: string, ...rest: boolean[]) => [a, b, rest];
    export const between = (a: number | undefined, b: string, ...rest: boolean[]) => [a, b, rest];
    export const taken = (a: number, { b }: { b?: string }, ...rest: boolean[]) => [a, b, rest];
  `;
  expect(await least("rest.ts", annotated)).toEqual({
    opt: [1, ["args"]],
    bare: [undefined, []],
    all: [2, ["args"]],
    between: [2, ["args"]],
    taken: [2, ["args"]],
  });
  const commented = `
    /** @param {number} a @param {string} [b] @param {...boolean} rest */
    export const opt = (a, b, ...rest) => [a, b, rest];
    export const all = (a, b, ...rest) => [a, b, rest];
  `;
  expect(await least("rest.mjs", commented)).toEqual({ opt: [1, ["args"]], all: [2, ["args"]] });
});

const tools = `
  /** Adds two numbers. @param {number} a the first */
  export function add(a: number, b: number): number { return a + b; }
  export async function search({ q, limit = 10 }: { q: string; limit?: number }): Promise<string[]> {
    return [q, typeof limit];
  }
  /** @returns {{ id: number }} */
  export const find = () => ({ id: 1 });
  export const maybe = (): number | undefined => undefined;
  export async function* count(to: number): AsyncGenerator<number> {}
`;

test("arguments of another type from agents are refused, and nothing runs", async () => {
  await using agent = await served("tools.ts", tools);
  const call = async (name: string, args: object): Promise<unknown> => {
    const { content } = await agent.callTool(name, args as Record<string, unknown>);
    return (content[0] as { text: string }).text;
  };
  expect(await call("add", { a: 1, b: 2 })).toBe("3");
  expect(await call("add", { a: "1", b: "2" })).toBe(
    'Invalid params: the argument "a" must be number',
  );
  expect(await call("search", { q: "x" })).toBe('["x","number"]');
  expect(await call("search", { limit: 1 })).toBe('Invalid params: the argument "q" is missing');
  expect(await call("search", { q: "x", limit: null })).toBe(
    'Invalid params: the argument "limit" must be number',
  );
});

test("other callers see the types, but are not validated", async () => {
  const { methods } = await documentOf("tools.ts", tools);
  const told = methods.map(({ name, params, result }) => [
    name,
    params.map((param) => [param.name, param.required, param.schema]),
    result?.schema,
  ]);
  expect(told).toEqual([
    [
      "add",
      [
        ["a", true, { ...number, description: "the first" }],
        ["b", true, number],
      ],
      number,
    ],
    ["count", [["to", true, number]], {}],
    ["find", [], { type: "object", properties: { id: number }, required: ["id"] }],
    ["maybe", [], {}],
    [
      "search",
      [
        ["q", true, string],
        ["limit", false, { ...number, default: 10 }],
      ],
      { type: "array", items: string },
    ],
  ]);
  const results = await answers("tools.ts", tools, [
    { method: "add", params: ["1", "2"] },
    { method: "search", params: {} },
  ]);
  expect(results).toEqual(["12", [null, "number"]]);
});

test("a result that is only described is not promised to agents", async () => {
  await using agent = await served("tools.ts", tools);
  for await (const { name, outputSchema } of agent.tools()) {
    // The type of a stream is an array of its items, whatever they are.
    expect([name, outputSchema !== undefined]).toEqual([name, name === "count"]);
  }
});
