import {
  type Context,
  createServer,
  type Methods,
  type Middleware,
  method,
  Origin,
  type Peer,
  silentLog,
  WireError,
} from "callwire";
import { FakeClock } from "callwire/testing";
import { afterEach, expect, test, vi } from "vitest";
import { ask, RecordingLog, requestText } from "./asking.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** Methods that pass the context of each call to the test. */
function watched(): { contexts: Context[]; methods: Methods } {
  const contexts: Context[] = [];
  const keep = (_: unknown, call: Context) => {
    contexts.push(call);
    return "kept";
  };
  const methods = {
    now: method({}, keep),
    later: method({}, async (params, call) => keep(params, call)),
  };
  return { contexts, methods };
}

test("every call has its id, its method and its origin", async () => {
  const { contexts, methods } = watched();
  const log = new RecordingLog();
  const server = createServer(methods, { log });
  for (const id of ["a", 7, null]) {
    await server.receive(JSON.stringify({ jsonrpc: "2.0", method: "now", id }));
  }
  await server.receive('{"jsonrpc":"2.0","method":"later"}');
  expect(contexts.map(({ id }) => id)).toEqual(["a", 7, null, undefined]);
  expect(contexts.map((context) => context.method)).toEqual(["now", "now", "now", "later"]);
  for (const { transport, principal, signal, deadline } of contexts) {
    expect(transport).toEqual({ kind: "direct", headers: {}, remoteAddress: undefined });
    expect(principal).toBeUndefined();
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(signal.aborted).toBe(false);
    expect(deadline).toBeTypeOf("number");
  }
  contexts[0]?.log.info({ a: 1 }, "from a handler");
  expect(log.entries).toEqual([{ level: "info", fields: { a: 1 }, message: "from a handler" }]);
});

test("the transport and the peer are those of the wire that brought the call", async () => {
  const { contexts, methods } = watched();
  const server = createServer(methods);
  const notified: unknown[] = [];
  const peer: Peer = {
    ...new Origin().peer,
    canNotify: true,
    call: async (name, params) => [name, params],
    notify: (...message) => notified.push(message) > 0,
  };
  const transport = { kind: "test", headers: { "x-key": "k" }, remoteAddress: "192.0.2.1" };
  await ask(server, "now", {}, new Origin(transport, peer));
  const [context] = contexts as [Context];
  expect(context.transport).toBe(transport);
  expect(context.peer).toBe(peer);
  expect(await context.peer.call("back", [1])).toEqual(["back", [1]]);
  expect(context.notify("hello", { a: 1 })).toBe(true);
  context.progress(0.5);
  expect(notified).toEqual([
    ["hello", { a: 1 }],
    ["$/progress", { token: 1, value: 0.5 }],
  ]);
});

test("progress goes under the token that the caller asked for, and nowhere for a notification", async () => {
  const notified: unknown[] = [];
  const peer: Peer = {
    ...new Origin().peer,
    canNotify: true,
    notify: (...message) => notified.push(message) > 0,
  };
  const server = createServer(
    { work: method({}, (_, call) => call.progress(1)) },
    { nullParams: "omit" },
  );
  const origin = new Origin(undefined, peer);
  const tokens: unknown[] = [
    { workDoneToken: "t" },
    { workDoneToken: 5 },
    { workDoneToken: {} },
    [1],
    {},
    null,
  ];
  for (const params of tokens) void server.receive(requestText("work", params), origin);
  void server.receive(requestText("work"), origin);
  void server.receive('{"jsonrpc":"2.0","method":"work"}', origin);
  expect(notified.map((message) => (message as [string, { token: unknown }])[1].token)).toEqual([
    ...["t", 5, 1, 1, 1, 1, 1],
  ]);
});

test("behind a wire that only answers, the peer cannot be reached", async () => {
  const { contexts, methods } = watched();
  await ask(createServer(methods), "now");
  const [context] = contexts as [Context];
  expect(context.peer.canNotify).toBe(false);
  expect(context.notify("hello")).toBe(false);
  expect(() => context.progress(1)).not.toThrow();
  const refusal = await context.peer.call("x").catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(WireError);
  expect(refusal).toMatchObject({ code: "UNSUPPORTED" });
});

test("a principal that middleware sets belongs to its call alone", async () => {
  const authenticate: Middleware = (next) => (request, context) => {
    if (request.id === "admin") context.principal = { id: "root", roles: ["admin"] };
    return next(request, context);
  };
  const server = createServer(
    { who: method({}, (_, call) => call.principal?.id ?? "nobody") },
    { use: [authenticate] },
  );
  const who = (id: string, origin?: Origin) =>
    server.receive(JSON.stringify({ jsonrpc: "2.0", method: "who", id }), origin);
  expect(who("admin")).toContain('"root"');
  expect(who("other")).toContain('"nobody"');
  const origin = new Origin();
  origin.principal = { id: "wire" };
  expect(who("other", origin)).toContain('"wire"');
  expect(who("admin", origin)).toContain('"root"');
  expect(who("other", origin)).toContain('"wire"');
});

test("a signal is made only for a call that reads it, and only once", async () => {
  const controllers = vi.spyOn(globalThis, "AbortController");
  const server = createServer(
    {
      ignores: method({}, async () => 1),
      reads: method({}, async (_, call) => {
        const { signal } = call;
        return signal === call.signal;
      }),
    },
    { log: silentLog },
  );
  await ask(server, "ignores");
  expect(controllers).not.toHaveBeenCalled();
  expect(await ask(server, "reads")).toMatchObject({ result: true });
  expect(controllers).toHaveBeenCalledTimes(1);
});

test("a deadline is the time of the call and the longest run together", async () => {
  const clock = new FakeClock(1_000_000);
  const deadlines: unknown[] = [];
  const keep = (_: unknown, call: Context) => void deadlines.push(call.deadline);
  const server = createServer(
    { usual: method({}, keep), own: method({ timeoutMs: 5_000 }, keep) },
    { clock, timeoutMs: 2_000 },
  );
  void server.receive(requestText("usual"));
  void server.receive(requestText("usual", [], { timeoutMs: 700 }));
  void server.receive(requestText("usual", [], { timeoutMs: 700_000 }));
  void server.receive(requestText("own"));
  expect(deadlines).toEqual([1_002_000, 1_000_700, 1_002_000, 1_005_000]);
});

test("a server without a timeout has calls without a deadline", async () => {
  const { contexts, methods } = watched();
  const server = createServer(methods, { timeoutMs: Number.POSITIVE_INFINITY });
  await ask(server, "now");
  await ask(server, "later");
  expect(contexts.map(({ deadline }) => deadline)).toEqual([undefined, undefined]);
});
