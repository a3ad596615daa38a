import {
  type Context,
  createServer,
  failure,
  type Middleware,
  type Request,
  RpcError,
  success,
} from "callwire";
import { expect, test } from "vitest";
import { ask, RecordingLog, requestText } from "./asking.ts";

const internalError = '{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":1}';

function tracing(name: string, steps: string[]): Middleware {
  return (next) => (request, context) => {
    steps.push(`${name} in`);
    const reply = next(request, context);
    steps.push(`${name} out`);
    return reply;
  };
}

test("the first middleware sees a call first and its reply last", () => {
  const steps: string[] = [];
  const server = createServer(
    { work: () => steps.push("work") },
    { use: [tracing("a", steps), tracing("b", steps)] },
  );
  void server.receive(requestText("work"));
  expect(steps).toEqual(["a in", "b in", "work", "b out", "a out"]);
});

test("middleware is put together once, when the server is made", () => {
  let made = 0;
  const counting: Middleware = (next) => {
    made++;
    return next;
  };
  const server = createServer({ work: () => 1 }, { use: [counting] });
  expect(made).toBe(1);
  void server.receive(requestText("work"));
  void server.receive(requestText("work"));
  expect(made).toBe(1);
});

test("synchronous middleware leaves a call synchronous", () => {
  const server = createServer(
    { work: () => 1 },
    { use: [(next) => next, (next) => (request, context) => next(request, context)] },
  );
  expect(server.receive(requestText("work"))).toBe('{"jsonrpc":"2.0","result":1,"id":1}');
});

test("middleware may wait before and after", async () => {
  const steps: string[] = [];
  const server = createServer(
    { work: () => steps.push("work") },
    {
      use: [
        (next) => async (request, context) => {
          await Promise.resolve();
          steps.push("before");
          const reply = await next(request, context);
          steps.push("after");
          return reply;
        },
      ],
    },
  );
  expect(await ask(server, "work")).toMatchObject({ result: 2 });
  expect(steps).toEqual(["before", "work", "after"]);
});

test("middleware may answer in the place of the method", async () => {
  let calls = 0;
  const cached: Middleware = (next) => (request, context) =>
    request.method === "cached" ? success("from the cache") : next(request, context);
  const refused: Middleware = (next) => (request, context) =>
    request.method === "refused"
      ? failure({ code: -32002, message: "Unauthorized", data: { reason: "no key" } })
      : next(request, context);
  const run = () => ++calls;
  const server = createServer({ cached: run, refused: run, open: run }, { use: [cached, refused] });
  expect(await ask(server, "cached")).toMatchObject({ result: "from the cache" });
  expect(await ask(server, "refused")).toMatchObject({
    error: { code: -32002, message: "Unauthorized", data: { reason: "no key" } },
  });
  expect(calls).toBe(0);
  expect(await ask(server, "open")).toMatchObject({ result: 1 });
});

test("middleware may answer methods that the server does not have", async () => {
  const server = createServer(
    {},
    { use: [(next) => (r, c) => (r.method === "rpc.ping" ? success("pong") : next(r, c))] },
  );
  expect(await ask(server, "rpc.ping")).toMatchObject({ result: "pong" });
  expect(await ask(server, "rpc.pong")).toMatchObject({ error: { code: -32601 } });
});

test("middleware may change the request on its way", async () => {
  const renaming: Middleware = (next) => (request, context) =>
    next({ ...request, method: request.method.replace("old/", "") }, context);
  const server = createServer({ work: (a: number) => a * 2 }, { use: [renaming] });
  expect(await ask(server, "old/work", [21])).toMatchObject({ result: 42, id: 1 });
});

test("middleware sees failures as values", async () => {
  const seen: unknown[] = [];
  const server = createServer(
    {
      now: () => {
        throw new RpcError(1001, "x");
      },
      later: async () => {
        throw new RpcError(1002, "x");
      },
    },
    {
      use: [
        (next) => async (request, context) => {
          const reply = await next(request, context);
          seen.push(reply?.error?.code);
          return reply;
        },
      ],
    },
  );
  expect(await ask(server, "now")).toMatchObject({ error: { code: 1001 } });
  expect(await ask(server, "later")).toMatchObject({ error: { code: 1002 } });
  expect(await ask(server, "missing")).toMatchObject({ error: { code: -32601 } });
  expect(seen).toEqual([1001, 1002, -32601]);
});

test("middleware that awaits a method gets its reply however it waits", async () => {
  const replies: unknown[] = [];
  const server = createServer(
    { work: async (n: number) => n },
    {
      use: [
        (next) => async (request, context) => {
          const pending = next(request, context) as PromiseLike<unknown>;
          replies.push(await pending);
          replies.push(await pending.then((reply) => reply));
          replies.push(await pending.then());
          return success("done");
        },
      ],
    },
  );
  expect(await ask(server, "work", [7])).toMatchObject({ result: "done" });
  expect(replies).toEqual([success(7), success(7), success(7)]);
});

test("what middleware throws is treated like what a method throws", async () => {
  const log = new RecordingLog();
  const throwing =
    (thrown: unknown): Middleware =>
    () =>
    () => {
      throw thrown;
    };
  const rejecting =
    (thrown: unknown): Middleware =>
    () =>
    () =>
      Promise.reject(thrown);
  for (const use of [throwing(new Error("secret")), rejecting(new Error("secret"))]) {
    const server = createServer({ work: () => 1 }, { use: [use], log });
    expect(await server.receive(requestText("work"))).toBe(internalError);
    expect(await server.receive('{"jsonrpc":"2.0","method":"work"}')).toBeUndefined();
  }
  expect(log.entries.map(({ fields }) => fields["err"])).toEqual(
    Array(4).fill(new Error("secret")),
  );
  for (const use of [throwing(new RpcError(7, "seven")), rejecting(new RpcError(7, "seven"))]) {
    const server = createServer({ work: () => 1 }, { use: [use] });
    expect(await ask(server, "work")).toMatchObject({ error: { code: 7, message: "seven" } });
  }
});

test("middleware that forgets to reply is reported in the log, and its caller gets an error", async () => {
  const log = new RecordingLog();
  const forgetful: Middleware = (next) => (request, context) => {
    next(request, context);
    return undefined;
  };
  const server = createServer({ work: () => 1 }, { use: [forgetful], log });
  expect(server.receive(requestText("work"))).toBe(internalError);
  expect(log.entries).toMatchObject([{ level: "error", fields: { method: "work", id: 1 } }]);
  expect(server.receive('{"jsonrpc":"2.0","method":"work"}')).toBeUndefined();
  expect(log.entries).toHaveLength(1);
});

test("middleware sees notifications and each entry of a batch, but no invalid message", async () => {
  const seen: unknown[] = [];
  const watching: Middleware = (next) => (request: Request, context: Context) => {
    seen.push([request.method, request.id, context.id]);
    return next(request, context);
  };
  const server = createServer({ work: () => 1 }, { use: [watching] });
  void server.receive('{"jsonrpc":"2.0","method":"work"}');
  void server.receive(
    '[{"jsonrpc":"2.0","method":"work","id":"a"},{"jsonrpc":"2.0","method":"x","id":null},1]',
  );
  void server.receive('{"jsonrpc":"2.0","method":1,"id":2}');
  expect(seen).toEqual([
    ["work", undefined, undefined],
    ["work", "a", "a"],
    ["x", null, null],
  ]);
});
