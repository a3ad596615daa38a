import { createServer, implement, type Methods, method, silentLog, stream } from "callwire";
import { expect, test } from "vitest";
import { z } from "zod";
import { ask } from "./asking.ts";

const nested = {
  add: (a: number, b: number) => a + b,
  math: { add: (a: number, b: number) => a + b, deep: { er: { negate: (a: number) => -a } } },
  "flat/name": () => "flat",
} satisfies Methods;

test.each(["/", ".", "_", "::"])("nested names are joined with %s", async (separator) => {
  const server = createServer(nested, { separator });
  expect(await ask(server, "add", [1, 2])).toMatchObject({ result: 3 });
  expect(await ask(server, `math${separator}add`, [1, 2])).toMatchObject({ result: 3 });
  const deep = ["math", "deep", "er", "negate"].join(separator);
  expect(await ask(server, deep, [1])).toMatchObject({ result: -1 });
  expect(await ask(server, "flat/name")).toMatchObject({ result: "flat" });
  expect([...server.methods.keys()]).toEqual(["add", `math${separator}add`, deep, "flat/name"]);
});

test("the separator is a slash unless another is chosen", async () => {
  const server = createServer(nested);
  expect(await ask(server, "math/add", [1, 2])).toMatchObject({ result: 3 });
  expect(await ask(server, "math.add", [1, 2])).toMatchObject({ error: { code: -32601 } });
});

test("only own members of the methods can be called", async () => {
  const inherited = Object.create({ inherited: () => "secret" }) as Methods;
  class Service {
    own = () => "own";
    method() {
      return "secret";
    }
  }
  const server = createServer({ inherited, service: new Service() as unknown as Methods });
  expect(await ask(server, "service/own")).toMatchObject({ result: "own" });
  for (const name of ["inherited/inherited", "service/method", "service/constructor"]) {
    expect(await ask(server, name)).toMatchObject({ error: { code: -32601 } });
  }
});

test("a method may have a name of JavaScript's own when it is given one", async () => {
  const server = createServer({
    ["__proto__"]: () => "proto",
    constructor: () => "constructor",
    "": () => "empty",
  });
  expect(await ask(server, "__proto__")).toMatchObject({ result: "proto" });
  expect(await ask(server, "constructor")).toMatchObject({ result: "constructor" });
  expect(await ask(server, "")).toMatchObject({ result: "empty" });
  expect(await ask(server, "toString")).toMatchObject({ error: { code: -32601 } });
});

test("names that begin with rpc. are refused when they are registered", () => {
  const refused = /"rpc\.x": names that begin with "rpc\." are reserved/;
  expect(() => createServer({ "rpc.x": () => 1 })).toThrow(refused);
  expect(() => createServer({ "rpc.x": method({}, () => 1) })).toThrow(refused);
  expect(() => createServer({ rpc: { x: () => 1 } }, { separator: "." })).toThrow(refused);
  expect(() => createServer({ rpc: { x: () => 1 }, rpcx: () => 1 })).not.toThrow();
});

test("a name that two methods share is refused", () => {
  expect(() => createServer({ a: { b: () => 1 }, "a/b": () => 2 })).toThrow(
    '"a/b" is defined twice',
  );
});

test("anything but a method or a group is refused by its name", () => {
  for (const entry of [1, "x", null, undefined, true]) {
    const methods = { group: { entry } } as unknown as Methods;
    expect(() => createServer(methods)).toThrow(
      '"group/entry" is neither a method nor a group of methods',
    );
  }
});

test('a server without methods answers "method not found"', async () => {
  expect(await ask(createServer({}), "anything")).toMatchObject({ error: { code: -32601 } });
});

test("a plain function gets no more than what was sent, and no context", async () => {
  const server = createServer({ spy: (...args: unknown[]) => args });
  expect(await ask(server, "spy", [1, 2, 3])).toMatchObject({ result: [1, 2, 3] });
  expect(await ask(server, "spy", [1, 2])).toMatchObject({ result: [1, 2] });
  expect(await ask(server, "spy", [1])).toMatchObject({ result: [1] });
  expect(await ask(server, "spy", [])).toMatchObject({ result: [] });
  expect(await ask(server, "spy")).toMatchObject({ result: [] });
  expect(await ask(server, "spy", { a: 1 })).toMatchObject({ result: [{ a: 1 }] });
});

const contract = {
  math: {
    add: method({
      params: z.object({ a: z.number(), b: z.number() }),
      result: z.number(),
      errors: { OVERFLOW: { code: 1001 } },
    }),
  },
  count: stream({ params: z.object({ to: z.number() }), item: z.number() }),
};

const handlers = {
  math: { add: ({ a, b }: { a: number; b: number }) => a + b },
  count: function* ({ to }: { to: number }) {
    for (let i = 0; i < to; i++) yield i;
  },
};

test("a contract without handlers is refused by the name of its first method", () => {
  expect(() => createServer(contract)).toThrow(
    '"math/add" is a contract without a handler; complete it with implement()',
  );
});

test("a generator that was given to method is refused by its name", () => {
  const generators = [
    async function* () {
      yield 1;
    },
    function* () {
      yield 1;
    },
  ];
  for (const handler of generators) {
    const count = method({}, handler as never);
    expect(() => createServer({ math: { count } })).toThrow(
      new TypeError('"math/count" has a generator as its handler; define it with stream()'),
    );
    expect(() => implement({ count: method({}) }, { count: handler })).not.toThrow();
    expect(() => createServer(implement({ count: method({}) }, { count: handler }))).toThrow(
      '"count" has a generator',
    );
  }
});

test("implement completes a contract, with its schemas and its errors", async () => {
  const server = createServer(
    implement(contract, {
      ...handlers,
      math: {
        add: ({ a, b }, _, errors) => {
          if (a + b > 100) throw errors.OVERFLOW();
          return a + b === 13 ? ("unlucky" as unknown as number) : a + b;
        },
      },
    }),
    { log: silentLog },
  );
  expect(await ask(server, "math/add", [2, 3])).toMatchObject({ result: 5 });
  expect(await ask(server, "math/add", ["2", 3])).toMatchObject({ error: { code: -32602 } });
  expect(await ask(server, "math/add", [99, 3])).toMatchObject({ error: { code: 1001 } });
  expect(await ask(server, "math/add", [10, 3])).toMatchObject({ error: { code: -32603 } });
  expect(server.methods.get("count")?.kind).toBe("stream");
});

test("implement leaves the contract as it was", () => {
  implement(contract, handlers);
  expect(contract.math.add.handler).toBeUndefined();
  expect(() => createServer(contract)).toThrow("without a handler");
});

test("implement refuses a missing handler by its name", () => {
  expect(() => implement(contract, { ...handlers, math: {} } as never)).toThrow(
    "math/add has no handler",
  );
  expect(() => implement(contract, { count: handlers.count } as never)).toThrow(
    "math/add has no handler",
  );
  expect(() => implement(contract, Object.create(handlers) as never)).toThrow("has no handler");
});

test("implement refuses a handler that the contract does not have", () => {
  const more = { ...handlers, math: { ...handlers.math, sub: () => 1 } };
  expect(() => implement(contract, more)).toThrow("math/sub is not in the contract");
});

test("implement refuses a contract that holds functions", () => {
  expect(() => implement({ add: () => 1 }, { add: () => 1 } as never)).toThrow(
    "add is a function; a contract holds definitions only",
  );
});
