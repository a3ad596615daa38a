import { type } from "arktype";
import {
  type Context,
  createServer,
  defineErrors,
  implement,
  type Method,
  type Methods,
  method,
  type RpcError,
  type Server,
  stream,
  withContext,
} from "callwire";
import * as v from "valibot";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

test("the params of a handler are what its schema makes of them", () => {
  method({ params: z.object({ a: z.number(), b: z.string().optional() }) }, (params, call) => {
    expectTypeOf(params).toEqualTypeOf<{ a: number; b?: string | undefined }>();
    expectTypeOf(call).toEqualTypeOf<Context>();
  });
  method({ params: z.object({ n: z.string().transform(Number).default(1) }) }, (params) => {
    expectTypeOf(params).toEqualTypeOf<{ n: number }>();
  });
  method({ params: z.tuple([z.string(), z.number()]) }, (params) => {
    expectTypeOf(params).toEqualTypeOf<[string, number]>();
  });
  method({ params: v.object({ a: v.number(), b: v.optional(v.string(), "x") }) }, (params) => {
    expectTypeOf(params).toEqualTypeOf<{ a: number; b: string }>();
  });
  method({ params: type({ a: "number", "b?": "string" }) }, (params) => {
    expectTypeOf(params).toEqualTypeOf<{ a: number; b?: string }>();
  });
});

test("without a schema the params may be anything", () => {
  method({}, (params) => {
    expectTypeOf(params).toBeUnknown();
  });
});

test("params that the schema does not have are an error", () => {
  method({ params: z.object({ a: z.number() }) }, (params) => {
    // @ts-expect-error: there is no b.
    return params.b;
  });
});

test("a handler returns what its result schema takes, now or later", () => {
  method({ result: z.number() }, () => 1);
  method({ result: z.number() }, async () => 1);
  method({ result: z.date().transform((date) => date.getTime()) }, () => new Date());
  method({ result: v.string() }, () => "x");
  method({ result: type("number") }, () => 1);
  // @ts-expect-error: a string is not a number.
  method({ result: z.number() }, () => "1");
  // @ts-expect-error: a promise of a string is not a number.
  method({ result: z.number() }, async () => "1");
  // @ts-expect-error: a member is missing.
  method({ result: z.object({ a: z.number(), b: z.number() }) }, () => ({ a: 1 }));
  // @ts-expect-error: undefined is not a number.
  method({ result: v.number() }, () => {});
  // @ts-expect-error: a string is not a number.
  method({ result: type("number") }, () => "1");
});

test("without a result schema a handler returns anything", () => {
  method({}, () => "x");
  method({}, async () => ({ a: 1 }));
  method({}, () => {});
});

test("a generator is the handler of a stream, and of no method", () => {
  method(
    {},
    // @ts-expect-error: this is for stream().
    async function* () {
      yield 1;
    },
  );
  method(
    { params: z.object({ to: z.number() }) },
    // @ts-expect-error: so is this.
    function* ({ to }) {
      expectTypeOf(to).toEqualTypeOf<number>();
      yield to;
    },
  );
  method({}, () => JSON.parse("1"));
  method({}, () => [1, 2]);
  method({}, () => new Map([[1, 2]]));
  method({}, (): never => {
    throw new Error("always");
  });
});

test("declared errors are made with their codes and their data", () => {
  const errors = {
    NOT_ENOUGH: { code: 1001, data: z.object({ balance: z.number() }) },
    ROUNDED: { code: 1002, data: z.string().transform(Number) },
    CLOSED: { code: 1003 },
  } as const;
  method({ errors }, (_, __, make) => {
    expectTypeOf(make.NOT_ENOUGH({ balance: 1 })).toEqualTypeOf<
      RpcError<1001, { balance: number }, "NOT_ENOUGH">
    >();
    expectTypeOf(make.ROUNDED("1")).toEqualTypeOf<RpcError<1002, number, "ROUNDED">>();
    expectTypeOf(make.CLOSED()).toEqualTypeOf<RpcError<1003, undefined, "CLOSED">>();
    // @ts-expect-error: the data is missing.
    make.NOT_ENOUGH();
    // @ts-expect-error: the data is of another type.
    make.NOT_ENOUGH({ balance: "1" });
    // @ts-expect-error: this error has no data.
    make.CLOSED({ balance: 1 });
    // @ts-expect-error: this error was not declared.
    make.OTHER();
  });
});

test("the codes of errors are literal without as const", () => {
  method({ errors: { CLOSED: { code: 1003 } } }, (_, __, make) => {
    expectTypeOf(make.CLOSED().code).toEqualTypeOf<1003>();
  });
});

test("errors that methods share keep their codes, or do not compile", () => {
  const { NOT_FOUND } = defineErrors({
    NOT_FOUND: { code: 1404, data: z.object({ id: z.string() }) },
  });
  const find = method({ errors: { NOT_FOUND, GONE: { code: 1410 } } }, (_, __, make) => {
    expectTypeOf(make.NOT_FOUND({ id: "1" }).code).toEqualTypeOf<1404>();
    throw make.GONE();
  });
  method({ errors: { NOT_FOUND } });
  stream({ errors: { NOT_FOUND } });
  expectTypeOf(find).toExtend<Method>();

  const WIDE = { code: 1404, data: z.object({ id: z.string() }) };
  // @ts-expect-error: the type of its code is `number`, so callers could not tell it from other errors.
  method({ errors: { WIDE } }, () => 1);
  // @ts-expect-error: so it is in a contract.
  method({ errors: { WIDE } });
  // @ts-expect-error: so it is in a stream.
  stream({ errors: { WIDE } }, () => [1]);
});

test("progress is what its schema takes", () => {
  method({ progress: z.object({ percent: z.coerce.number<string>() }) }, (_, call) => {
    call.progress({ percent: "50" });
    // @ts-expect-error: the schema takes a string.
    call.progress({ percent: 50 });
    expectTypeOf(call).toExtend<Context>();
  });
  stream({ progress: z.number(), item: z.string() }, async function* (_, call) {
    call.progress(1);
    // @ts-expect-error: progress is a number.
    call.progress("1");
    yield "a";
  });
  method({}, (_, call) => call.progress({ any: "thing" }));
});

test("a method without errors has no constructors for them", () => {
  method({}, (_, __, make) => {
    // @ts-expect-error: none was declared.
    make.ANY();
  });
});

test("a stream yields what its item schema takes", () => {
  stream({ params: z.object({ to: z.number() }), item: z.number() }, async function* ({ to }) {
    expectTypeOf(to).toEqualTypeOf<number>();
    yield to;
  });
  stream({ item: z.number() }, () => [1, 2]);
  // @ts-expect-error: a string is not a number.
  stream({ item: z.number() }, () => ["1"]);
  stream(
    { item: z.number() },
    // @ts-expect-error: a string is not a number.
    async function* () {
      yield "1";
    },
  );
});

test("a declared result or item keeps the literal types of what a handler returns", () => {
  const task = z.object({ state: z.enum(["open", "done"]), tags: z.array(z.literal("a")) });
  const { method: own, stream: ownStream } = withContext(() => ({ user: "ann" }));
  method({ result: task }, () => ({ state: "open", tags: ["a"] }));
  own({ params: z.string(), result: task }, async (tag) => ({
    state: "done",
    tags: tag ? ["a"] : [],
  }));
  stream({ item: task }, async function* (_, call) {
    if (call.signal.aborted) return;
    yield { state: "open", tags: [] };
  });
  ownStream({ item: task }, function* () {
    yield { state: "open", tags: ["a"] };
  });
  // @ts-expect-error There is no such state.
  method({ result: task }, () => ({ state: "late", tags: [] }));
});

test("options that do not exist are errors", () => {
  // @ts-expect-error: it is called timeoutMs.
  method({ timeout: 5 }, () => 1);
  // @ts-expect-error: it is called separator.
  createServer({}, { seperator: "." });
  // @ts-expect-error: only two versions exist.
  createServer({}, { versions: ["3.0"] });
  // @ts-expect-error: there is no such limit.
  createServer({}, { limits: { maxBatches: 1 } });
});

test("methods, groups and functions make a server that knows their types", () => {
  const methods = {
    add: method({ params: z.object({ a: z.number() }), result: z.number() }, ({ a }) => a),
    group: { echo: (text: string) => text, count: stream({ item: z.number() }, () => [1]) },
  };
  const server = createServer(methods);
  expectTypeOf(server).toEqualTypeOf<Server<typeof methods>>();
  expectTypeOf(server.api).toEqualTypeOf<typeof methods>();
  expectTypeOf(server.receive("")).toEqualTypeOf<
    string | undefined | Promise<string | undefined>
  >();
  expectTypeOf(methods).toExtend<Methods>();
  // @ts-expect-error: a number is not a method.
  createServer({ one: 1 });
});

const contract = {
  math: {
    add: method({
      params: z.object({ a: z.number(), b: z.number().default(1) }),
      result: z.number(),
      errors: { OVERFLOW: { code: 1001 } },
    }),
  },
  count: stream({ params: z.object({ to: z.number() }), item: z.number() }),
  ping: method({}),
};

test("implement wants each handler of a contract, with its types", () => {
  const complete = implement(contract, {
    math: {
      add: ({ a, b }, call, errors) => {
        expectTypeOf(a).toEqualTypeOf<number>();
        expectTypeOf(b).toEqualTypeOf<number>();
        expectTypeOf(call).toEqualTypeOf<Context>();
        expectTypeOf(errors.OVERFLOW()).toEqualTypeOf<RpcError<1001, undefined, "OVERFLOW">>();
        return a + b;
      },
    },
    count: async function* ({ to }) {
      yield to;
    },
    ping: () => "pong",
  });
  expectTypeOf(complete).toEqualTypeOf<typeof contract>();
  createServer(complete);
});

test("implement refuses missing, wrong and additional handlers", () => {
  const count = () => [1];
  const ping = () => 1;
  const math = { add: () => 1 };
  implement(contract, { math, count, ping });
  // @ts-expect-error: math/add is missing.
  implement(contract, { math: {}, count, ping });
  // @ts-expect-error: ping is missing.
  implement(contract, { math, count });
  // @ts-expect-error: the result is a number.
  implement(contract, { math: { add: () => "1" }, count, ping });
  // @ts-expect-error: the items are numbers.
  implement(contract, { math, count: () => ["1"], ping });
  // @ts-expect-error: a is a number.
  implement(contract, { math: { add: ({ a }: { a: string }) => a.length }, count, ping });
  // @ts-expect-error: there is no such method.
  implement(contract, { math, count, ping, pong: () => 1 });
  // @ts-expect-error: there is no such method.
  implement(contract, { math: { add: () => 1, sub: () => 1 }, count, ping });
});

test("a method is a Method, whatever its types", () => {
  const add = method({ params: z.object({ a: z.number() }), result: z.number() }, ({ a }) => a);
  expectTypeOf(add).toExtend<Method>();
});
