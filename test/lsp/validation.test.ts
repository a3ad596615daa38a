import { Ajv, type ValidateFunction } from "ajv";
import { type Context, createServer, type Params, type Reply, silentLog, success } from "callwire";
import { memoryPair } from "callwire/connection";
import { validateParams } from "callwire/lsp/validation";
import { beforeEach, describe, expect, test } from "vitest";
import { clientParams, serverParams, shapes } from "../../src/lsp/model/shapes.ts";
import type { Shape } from "../../src/lsp/shape.ts";
import { type Random, randomFrom, sample } from "./samples.ts";

/** A copy in which one value, at any depth, is replaced or removed. */
function mutated(value: unknown, random: Random): unknown {
  const isLeaf = typeof value !== "object" || value === null || Object.keys(value).length === 0;
  if (isLeaf || random(4) === 0) {
    const others = [null, true, -1, 1.5, 2 ** 31, "other", [], {}, [1], { uri: 1 }];
    return others[random(others.length)];
  }
  const copy = Array.isArray(value) ? [...value] : { ...value };
  const keys = Object.keys(copy);
  const key = keys[random(keys.length)] as keyof typeof copy;
  if (!Array.isArray(copy) && random(3) === 0) delete copy[key];
  else copy[key] = mutated(copy[key], random) as never;
  return copy;
}

/** A shape as JSON Schema, which another validator understands. */
function schemaOf(shape: Shape): object {
  if (typeof shape === "string") {
    if (shape.startsWith("#")) return { $ref: `#/$defs/${shape.slice(1)}` };
    return schemas[shape] ?? {};
  }
  if (!Array.isArray(shape)) {
    const members = Object.entries(shape as Readonly<Record<string, Shape>>);
    return {
      type: "object",
      properties: Object.fromEntries(
        members.map(([key, member]) => [key.replace("?", ""), schemaOf(member)]),
      ),
      required: members.map(([key]) => key).filter((key) => !key.endsWith("?")),
    };
  }
  const [kind, ...parts] = shape as [string, ...Shape[]];
  switch (kind) {
    case "=":
      return { enum: parts };
    case "|":
      return { anyOf: parts.map(schemaOf) };
    case "&":
      return { allOf: parts.map(schemaOf) };
    case "[]":
      return { type: "array", items: schemaOf(parts[0] as Shape) };
    case "()":
      return {
        type: "array",
        items: parts.map(schemaOf),
        minItems: parts.length,
        maxItems: parts.length,
      };
    default:
      return { type: "object", additionalProperties: schemaOf(parts[0] as Shape) };
  }
}

const schemas: Readonly<Record<string, object>> = {
  none: { type: "null" },
  null: { type: "null" },
  string: { type: "string" },
  boolean: { type: "boolean" },
  decimal: { type: "number" },
  integer: { type: "integer", minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
  uinteger: { type: "integer", minimum: 0, maximum: 2 ** 31 - 1 },
  object: { type: "object" },
};

describe("50,000 messages", () => {
  const sides = { server: serverParams, client: clientParams };
  const messages = (["server", "client"] as const).flatMap((side) => {
    const handle = validateParams(side)(() => success("accepted"));
    return Object.entries(sides[side]).map(([method, shape]) => ({ method, shape, handle }));
  });
  const context = {} as Context;
  /** The reply to a request: accepted, or the code of the error. */
  const answer = ({ handle, method }: (typeof messages)[number], params: unknown): unknown => {
    const reply = handle(
      { jsonrpc: "2.0", id: 1, method, params: params as Params },
      context,
    ) as Reply;
    return reply.error?.code ?? reply.result;
  };
  const ajv = new Ajv({ strict: false });
  const $defs = Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => [name, schemaOf(shape)]),
  );
  ajv.addSchema({ $id: "lsp", $defs });
  const judges = new Map<string, ValidateFunction>();
  const judgeOf = (method: string, shape: Shape): ValidateFunction => {
    const text = JSON.stringify(schemaOf(shape)).replaceAll('"#/$defs/', '"lsp#/$defs/');
    const judge = judges.get(method) ?? ajv.compile(JSON.parse(text));
    judges.set(method, judge);
    return judge;
  };

  test("that the model allows are accepted", () => {
    const random = randomFrom(1);
    for (let i = 0; i < 25_000; i++) {
      const message = messages[i % messages.length] as (typeof messages)[number];
      const params = sample(message.shape, random);
      if (answer(message, params) !== "accepted") {
        expect.fail(`${message.method} ${JSON.stringify(params)} was refused`);
      }
    }
  });

  test("that are changed anywhere are refused with -32602 if another validator refuses them", () => {
    const random = randomFrom(2);
    let refused = 0;
    for (let i = 0; refused < 25_000; i++) {
      const message = messages[i % messages.length] as (typeof messages)[number];
      const { method, shape } = message;
      const params = mutated(sample(shape, random), random) ?? null;
      const isAllowed = judgeOf(method, shape)(params);
      if (answer(message, params) !== (isAllowed ? "accepted" : -32602)) {
        expect.fail(
          `${method} ${JSON.stringify(params)} was ${isAllowed ? "refused" : "accepted"}`,
        );
      }
      if (!isAllowed) refused++;
    }
    expect(refused).toBe(25_000);
  });
});

describe("the middleware", () => {
  const calls: string[] = [];
  const warnings: object[] = [];
  const server = createServer(
    {
      "textDocument/hover": () => calls.push("hover"),
      "textDocument/didClose": () => void calls.push("closed"),
      "my/method": () => "mine",
    },
    {
      use: [validateParams("server")],
      log: { ...silentLog, warn: (fields) => void warnings.push(fields) },
    },
  );
  const [client] = memoryPair(undefined, server);

  beforeEach(() => {
    calls.length = 0;
    warnings.length = 0;
  });

  test("refuses a request with -32602, and says where it is wrong", async () => {
    const params = { textDocument: { uri: "file:///a" }, position: { line: 0, character: 1.5 } };
    await expect(client.call("textDocument/hover", params)).rejects.toMatchObject({
      code: -32602,
      data: {
        path: "/position/character",
        expected: "uinteger",
        details: "/position/character must be uinteger",
      },
    });
    await expect(client.call("textDocument/hover")).rejects.toMatchObject({
      data: { path: "", details: "the params must be an object" },
    });
    expect(calls).toEqual([]);
  });

  test("drops a notification, and logs it", async () => {
    client.notify("textDocument/didClose", { textDocument: {} });
    await client.call("my/method");
    expect(calls).toEqual([]);
    expect(warnings).toEqual([
      { method: "textDocument/didClose", path: "/textDocument/uri", expected: "a value" },
    ]);
  });

  test("passes what is right, and methods outside of the protocol", async () => {
    expect(await client.call("my/method", { anything: 1 })).toBe("mine");
    client.notify("textDocument/didClose", { textDocument: { uri: "file:///a" }, more: true });
    await client.call("my/method");
    expect(calls).toEqual(["closed"]);
  });
});
