import { createServer, ErrorCode, invalidParams, isRpcError, method, RpcError } from "callwire";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ask, RecordingLog, requestText } from "./asking.ts";

const internalError = '{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":1}';

describe("what a handler throws", () => {
  const secrets: Record<string, unknown> = {
    "an Error": new Error("secret"),
    "a TypeError": new TypeError("secret"),
    "an Error with a code": Object.assign(new Error("secret"), { code: -32000, data: "secret" }),
    "an object that looks like an RpcError": { code: -32000, message: "secret", data: "secret" },
    "a string": "secret",
    undefined: undefined,
    null: null,
    "an Error whose text cannot be read": Object.defineProperty(new Error("x"), "message", {
      get() {
        throw new Error("secret");
      },
    }),
  };
  const raise = (name: string): never => {
    throw secrets[name];
  };

  test.each(Object.keys(secrets))(
    "is %s: no text of it reaches the caller, and it is logged",
    async (name) => {
      const log = new RecordingLog();
      const server = createServer(
        {
          now: raise,
          later: async (which: string) => raise(which),
          schema: method({ params: z.tuple([z.string()]), result: z.string() }, ([which]) =>
            raise(which),
          ),
        },
        { log },
      );
      expect(server.receive(requestText("now", [name]))).toBe(internalError);
      expect(await server.receive(requestText("later", [name]))).toBe(internalError);
      expect(server.receive(requestText("schema", [name]))).toBe(internalError);
      expect(log.entries).toHaveLength(3);
      for (const [index, which] of ["now", "later", "schema"].entries()) {
        const entry = log.entries[index];
        expect(entry?.level).toBe("error");
        expect(entry?.fields).toMatchObject({ method: which, id: 1 });
        expect(entry?.fields["err"]).toBe(secrets[name]);
      }
    },
  );
});

test("a thrown RpcError reaches the caller with code, message and data, and is not logged", async () => {
  const log = new RecordingLog();
  const raise = () => {
    throw new RpcError(
      -32010,
      "Out of paper",
      { tray: 2 },
      { cause: new Error("secret"), status: 409 },
    );
  };
  const server = createServer({ now: raise, later: async () => raise() }, { log });
  const reply =
    '{"jsonrpc":"2.0","error":{"code":-32010,"message":"Out of paper","data":{"tray":2}},"id":1}';
  expect(server.receive(requestText("now"))).toBe(reply);
  expect(await server.receive(requestText("later"))).toBe(reply);
  expect(log.entries).toEqual([]);
});

test("an error of a subclass of RpcError reaches the caller", async () => {
  class OutOfPaper extends RpcError<1, undefined> {
    readonly secret = "secret";
    constructor() {
      super(1, "Out of paper");
    }
  }
  const server = createServer({
    print: () => {
      throw new OutOfPaper();
    },
  });
  expect(server.receive(requestText("print"))).toBe(
    '{"jsonrpc":"2.0","error":{"code":1,"message":"Out of paper"},"id":1}',
  );
});

test("invalidParams has the form of a validation error", async () => {
  const server = createServer({
    generate: () => {
      throw invalidParams("Prompt too long");
    },
  });
  expect(server.receive(requestText("generate"))).toBe(
    '{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params","data":{"details":"Prompt too long"}},"id":1}',
  );
});

test("data that JSON cannot hold is left out of an error", async () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const data: unknown[] = [1n, cycle, () => 1, Symbol("s"), undefined];
  const told: [object, string][] = [];
  const warn = (fields: object, message: string): void => void told.push([fields, message]);
  const log = { debug() {}, info() {}, warn, error: warn };
  const raise = (index: number): never => {
    throw new RpcError(1, "x", data[index]);
  };
  const server = createServer({ raise }, { log });
  for (let index = 0; index < data.length; index++) {
    expect(server.receive(requestText("raise", [index]))).toBe(
      '{"jsonrpc":"2.0","error":{"code":1,"message":"x"},"id":1}',
    );
  }
  // JSON has no values for the other three.
  const sentence = "dropped the data of an error that cannot be serialized as JSON";
  expect(told).toEqual([
    [{ err: expect.any(TypeError), code: 1 }, sentence],
    [{ err: expect.any(TypeError), code: 1 }, sentence],
  ]);
});

test("an RpcError has a code, which must be an integer", () => {
  const error: unknown = new RpcError(1001, "x", { a: 1 }, { cause: "why" });
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({
    name: "RpcError",
    code: 1001,
    message: "x",
    data: { a: 1 },
    cause: "why",
  });
  expect(isRpcError(error)).toBe(true);
  expect(isRpcError(error, 1001)).toBe(true);
  expect(isRpcError(error, 1002)).toBe(false);
  expect(isRpcError({ code: 1001, message: "x" })).toBe(false);
  expect("cause" in new RpcError(1, "x")).toBe(false);
  for (const code of [1.5, Number.NaN, "1"]) {
    expect(() => new RpcError(code as number, "x")).toThrow(TypeError);
  }
});

test("own error codes are outside of those that MCP reserves", () => {
  const own = Object.values(ErrorCode).filter((code) => code > -32600);
  expect(own.length).toBeGreaterThan(0);
  for (const code of own) expect(code >= -32019 && code <= -32000).toBe(true);
});

describe("declared errors", () => {
  const errors = {
    NOT_ENOUGH: { code: 1001, data: z.object({ balance: z.number() }) },
    ACCOUNT_CLOSED: { code: 1002 },
    TOO_MUCH: { code: 1003, message: "That is too much" },
    ROUNDED: { code: 1004, data: z.number().transform(Math.round) },
    SLOW: { code: 1005, data: z.number().refine(async () => true) },
  } as const;

  function serverThatThrows(make: (makers: Record<string, (data?: unknown) => Error>) => Error) {
    const log = new RecordingLog();
    const server = createServer(
      {
        pay: method({ errors }, (_, __, makers) => {
          throw make(makers as unknown as Record<string, (data?: unknown) => Error>);
        }),
      },
      { log },
    );
    return { server, log };
  }

  test("are thrown with their code and data", async () => {
    const { server, log } = serverThatThrows((make) => make["NOT_ENOUGH"]!({ balance: 5 }));
    expect(server.receive(requestText("pay"))).toBe(
      '{"jsonrpc":"2.0","error":{"code":1001,"message":"Not enough","data":{"balance":5}},"id":1}',
    );
    expect(log.entries).toEqual([]);
  });

  test("have a message made of their name, or their own", async () => {
    const closed = serverThatThrows((make) => make["ACCOUNT_CLOSED"]!());
    expect(closed.server.receive(requestText("pay"))).toBe(
      '{"jsonrpc":"2.0","error":{"code":1002,"message":"Account closed"},"id":1}',
    );
    const much = serverThatThrows((make) => make["TOO_MUCH"]!());
    expect(await ask(much.server, "pay")).toMatchObject({ error: { message: "That is too much" } });
  });

  test("send their data as the schema transformed it", async () => {
    const { server } = serverThatThrows((make) => make["ROUNDED"]!(1.6));
    expect(await ask(server, "pay")).toMatchObject({ error: { code: 1004, data: 2 } });
  });

  test("with data that is not what they declare are an internal error, and are logged", async () => {
    const { server, log } = serverThatThrows((make) => make["NOT_ENOUGH"]!({ balance: "secret" }));
    expect(server.receive(requestText("pay"))).toBe(internalError);
    expect(log.entries[0]?.fields["err"]).toMatchObject({
      message: "the data of NOT_ENOUGH does not match its schema",
      cause: [{ path: ["balance"] }],
    });
  });

  test("need a synchronous schema", async () => {
    const { server, log } = serverThatThrows((make) => make["SLOW"]!(1));
    expect(server.receive(requestText("pay"))).toBe(internalError);
    expect(String(log.entries[0]?.fields["err"])).toContain("synchronously");
  });

  test("with a code that is not an integer are refused when the server is made", () => {
    const pay = method({ errors: { ODD: { code: 1.5 } } }, () => 1);
    expect(() => createServer({ pay })).toThrow("the error ODD needs an integer code");
  });

  test("a name that was not declared has no error maker, not even an inherited one", async () => {
    const { server, log } = serverThatThrows((make) => make["toString"]!());
    expect(server.receive(requestText("pay"))).toBe(internalError);
    expect(log.entries[0]?.fields["err"]).toBeInstanceOf(TypeError);
  });
});

test("a notification that fails is logged and never answered", async () => {
  const log = new RecordingLog();
  const raise = () => {
    throw new Error("secret");
  };
  const server = createServer(
    {
      now: raise,
      later: async () => raise(),
      strict: method({ params: z.object({ a: z.number() }) }, raise),
    },
    { log },
  );
  const notification = (name: string) => JSON.stringify({ jsonrpc: "2.0", method: name });
  expect(server.receive(notification("now"))).toBeUndefined();
  expect(await server.receive(notification("later"))).toBeUndefined();
  expect(server.receive(notification("strict"))).toBeUndefined();
  expect(server.receive(notification("missing"))).toBeUndefined();
  expect(log.entries.map(({ fields }) => fields)).toEqual([
    { err: new Error("secret"), method: "now", id: undefined, correlationId: expect.any(String) },
    { err: new Error("secret"), method: "later", id: undefined, correlationId: expect.any(String) },
  ]);
});
