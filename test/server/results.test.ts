import { createServer, method } from "callwire";
import * as v from "valibot";
import { expect, test } from "vitest";
import { z } from "zod";
import { ask, RecordingLog, requestText } from "./asking.ts";

const internalError = '{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":1}';

test("a result that its schema accepts is sent", async () => {
  const server = createServer({
    now: method({ result: z.object({ n: z.number() }) }, () => ({ n: 1 })),
    later: method({ result: z.object({ n: z.number() }) }, async () => ({ n: 1 })),
  });
  expect(server.receive(requestText("now"))).toBe('{"jsonrpc":"2.0","result":{"n":1},"id":1}');
  expect(await ask(server, "later")).toMatchObject({ result: { n: 1 } });
});

test("a result that its schema refuses is an internal error without details, and is logged", async () => {
  const log = new RecordingLog();
  const wrong = { n: "secret" } as unknown as { n: number };
  const server = createServer(
    {
      now: method({ result: z.object({ n: z.number() }) }, () => wrong),
      later: method({ result: z.object({ n: z.number() }) }, async () => wrong),
    },
    { log },
  );
  expect(server.receive(requestText("now"))).toBe(internalError);
  expect(await server.receive(requestText("later"))).toBe(internalError);
  for (const [index, name] of ["now", "later"].entries()) {
    const entry = log.entries[index];
    expect(entry).toMatchObject({ level: "error", fields: { method: name, id: 1 } });
    expect(entry?.fields["err"]).toMatchObject({
      message: "the result does not match the schema of its method",
      cause: [{ path: ["n"] }],
    });
  }
});

test("an async iterable is not a valid result, and the log says what to do", async () => {
  const log = new RecordingLog();
  async function* items() {
    yield 1;
  }
  const server = createServer(
    {
      plain: () => items(),
      later: method({}, async (): Promise<unknown> => items()),
      empty: () => ({}),
    },
    { log },
  );
  expect(server.receive(requestText("plain"))).toBe(internalError);
  expect(await server.receive(requestText("later"))).toBe(internalError);
  expect(await ask(server, "empty")).toMatchObject({ result: {} });
  const message = "the result is an async iterable; define the method with stream()";
  expect(log.entries).toMatchObject([
    { level: "error", fields: { method: "plain", err: { message } } },
    { level: "error", fields: { method: "later", err: { message } } },
  ]);
});

test("a result is sent as its schema transformed it", async () => {
  const server = createServer({
    zod: method({ result: z.date().transform((date) => date.getTime()) }, () => new Date(5)),
    hidden: method({ result: z.object({ shown: z.number() }) }, () => {
      const user = { shown: 1, secret: 2 };
      return user;
    }),
  });
  expect(await ask(server, "zod")).toMatchObject({ result: 5 });
  expect((await ask(server, "hidden")).result).toEqual({ shown: 1 });
});

test("a result schema may take time", async () => {
  const log = new RecordingLog();
  const even = v.pipeAsync(
    v.number(),
    v.checkAsync(async (n) => n % 2 === 0, "odd"),
  );
  const server = createServer(
    { even: method({ result: even }, () => 2), odd: method({ result: even }, async () => 3) },
    { log },
  );
  expect(await ask(server, "even")).toMatchObject({ result: 2 });
  expect(await server.receive(requestText("odd"))).toBe(internalError);
  expect(log.entries).toHaveLength(1);
});

test("a promise and anything else with a then are waited for", async () => {
  const thenable = { then: (done: (value: string) => void) => done("then") };
  const server = createServer({
    promise: () => Promise.resolve("promise"),
    thenable: () => thenable,
    nested: async () => thenable,
    checked: method({ result: z.string() }, () => thenable as PromiseLike<string>),
    refusing: () => ({ then: (_: unknown, refuse: (reason: unknown) => void) => refuse("secret") }),
  });
  expect(await ask(server, "promise")).toMatchObject({ result: "promise" });
  expect(await ask(server, "thenable")).toMatchObject({ result: "then" });
  expect(await ask(server, "nested")).toMatchObject({ result: "then" });
  expect(await ask(server, "checked")).toMatchObject({ result: "then" });
});

test("a thenable that refuses is an internal error", async () => {
  const log = new RecordingLog();
  const server = createServer(
    { refusing: () => ({ then: (_: unknown, no: (reason: unknown) => void) => no("secret") }) },
    { log },
  );
  expect(await server.receive(requestText("refusing"))).toBe(internalError);
  expect(log.entries).toMatchObject([{ fields: { err: "secret" } }]);
});

test.each([
  ["undefined", undefined, "null"],
  ["null", null, "null"],
  ["false", false, "false"],
  ["zero", 0, "0"],
  ["minus zero", -0, "0"],
  ["the empty string", "", '""'],
  ["a fraction", 0.1, "0.1"],
  ["a large number", 1e21, "1e+21"],
  ["infinity", Number.POSITIVE_INFINITY, "null"],
  ["a symbol", Symbol("s"), "null"],
  ["an object with a symbol", { a: Symbol("s"), b: undefined }, "{}"],
  ["a lone surrogate", "\ud800", '"\\ud800"'],
  ["a Map", new Map([[1, 2]]), "{}"],
  ["what toJSON gives", { toJSON: () => ({ a: 1 }) }, '{"a":1}'],
  ["a toJSON without a word", { toJSON: () => undefined }, "null"],
])("the result %s is written as JSON.stringify writes it", async (_, value, text) => {
  const server = createServer({ now: () => value, later: async () => value });
  const reply = `{"jsonrpc":"2.0","result":${text},"id":1}`;
  expect(server.receive(requestText("now"))).toBe(reply);
  expect(await server.receive(requestText("later"))).toBe(reply);
});

test("a result that cannot be written is an internal error, is logged, and the server continues", async () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  let deep: unknown = 0;
  for (let i = 0; i < 100_000; i++) deep = { deep };
  const results: Record<string, unknown> = {
    bigint: 1n,
    cycle,
    deep,
    getter: {
      get secret(): never {
        throw new Error("secret");
      },
    },
  };
  const log = new RecordingLog();
  const server = createServer(
    { now: (name: string) => results[name], later: async (name: string) => results[name] },
    { log },
  );
  for (const name of Object.keys(results)) {
    expect(server.receive(requestText("now", [name]))).toBe(internalError);
    expect(await server.receive(requestText("later", [name]))).toBe(internalError);
  }
  expect(log.entries).toHaveLength(8);
  expect(log.entries).toMatchObject(
    Array(8).fill({
      level: "error",
      fields: { id: 1 },
      message: "the result cannot be serialized as JSON",
    }),
  );
  expect(log.entries[0]?.fields["err"]).toBeInstanceOf(TypeError);
  expect(server.receive(requestText("now", ["nothing"]))).toContain('"result":null');
});
