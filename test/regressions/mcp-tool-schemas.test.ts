import { method, silentLog } from "callwire";
import { mcpServer, tool } from "callwire/mcp";
import { expect, test } from "vitest";
import { callTool, toolsOf } from "../mcp/server/asking.ts";

// Strict clients rejected the schemas of plain functions, and their default values were not described.

const info = { name: "test", version: "1.0.0", log: silentLog };

test("a tool that takes no arguments says so", async () => {
  const server = mcpServer(
    { plain: () => 1, defined: method({}, () => 1), made: tool({}, () => "1") },
    info,
  );
  const tools = await toolsOf(server);
  for (const name of ["plain", "defined", "made"]) {
    expect(tools.get(name)?.inputSchema, name).toEqual({
      type: "object",
      properties: {},
      required: [],
      additionalProperties: false,
    });
  }
});

test("a function that refuses further arguments says so, and one that takes them does not", async () => {
  const server = mcpServer(
    {
      add: (a: number, b: number) => a + b,
      object: ({ a }: { a: number }) => a,
      others: ({ a, ...rest }: { a: number }) => [a, rest],
      rest: (...parts: number[]) => parts.length,
    },
    info,
  );
  const tools = await toolsOf(server);
  const isClosed = (name: string): unknown => {
    const { inputSchema } = tools.get(name) as { inputSchema?: { additionalProperties?: unknown } };
    return inputSchema?.additionalProperties;
  };
  expect(["add", "object", "others", "rest"].map(isClosed)).toEqual([
    false,
    false,
    undefined,
    false,
  ]);
});

test("a default value gives its argument a type and a default", async () => {
  const server = mcpServer(
    {
      // Built from a string, because the compiler of the tests rewrites literals.
      find: new Function(
        `return (text, limit = 10_000, unit = 'm', exact = !1, tags = ["a"], more = {}, none = null, now = Date.now()) =>
          [text, limit, unit, exact, tags, more, none]`,
      )(),
      greet: ({ name = "world", loud = false }: { name?: string; loud?: boolean } = {}) =>
        `Hello, ${name}${loud ? "!" : ""}`,
    },
    info,
  );
  const tools = await toolsOf(server);
  expect(tools.get("find")?.inputSchema).toMatchObject({
    properties: {
      text: {},
      limit: { type: "number", default: 10_000 },
      unit: { type: "string", default: "m" },
      exact: { type: "boolean", default: false },
      tags: { type: "array", default: ["a"] },
      more: { type: "object", default: {} },
      none: { default: null },
      now: {},
    },
    required: ["text"],
  });
  expect(tools.get("greet")?.inputSchema).toMatchObject({
    properties: {
      name: { type: "string", default: "world" },
      loud: { type: "boolean", default: false },
    },
  });
  expect(await callTool(server, "find", { text: "x", limit: 3 })).not.toHaveProperty("isError");
  expect(await callTool(server, "find", { text: "x", limit: "3" })).toMatchObject({
    isError: true,
  });
});
