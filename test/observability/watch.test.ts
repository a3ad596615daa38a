import {
  createClient,
  createServer,
  type Handle,
  type Middleware,
  method,
  RpcError,
  silentLog,
  stream,
} from "callwire";
import { Connection, memoryChannels, memoryPair, type Notices } from "callwire/connection";
import { fetchHandler } from "callwire/http";
import type { Answered, Watch } from "callwire/observability";
import { expect, test } from "vitest";
import { RecordingLog, requestText } from "../server/asking.ts";

const same = (next: Handle): Handle => next;

function watching(watch: Watch): Middleware {
  return Object.assign((next: Handle) => next, { watch: () => watch });
}

test("custom middleware sees every message once, with its answer", async () => {
  const told: Answered[] = [];
  const server = createServer(
    { add: (a: number, b: number) => a + b, circle: () => ({ big: 1n }) },
    { use: [same, watching({ answered: (message) => void told.push(message) })], log: silentLog },
  );
  const replies = [
    server.receive(requestText("add", [1, 2])),
    server.receive(requestText("circle")),
    server.receive('{"jsonrpc":"2.0","method":"add","params":[1,2]}'),
    server.receive("[1]"),
  ];
  expect(
    told.map(({ reply, error, replyLength }) => [reply?.result, error?.code, replyLength]),
  ).toEqual([
    [3, undefined, (replies[0] as string).length],
    [{ big: 1n }, -32603, (replies[1] as string).length],
    [3, undefined, 0],
    [undefined, -32600, (replies[3] as string).length - 2],
  ]);
});

test("messages are reported with their length, their position and their outcome", async () => {
  const told: Answered[] = [];
  const server = createServer(
    { add: (a: number, b: number) => a + b, later: async () => 1, refuse: () => refuse() },
    { use: [watching({ untimed: true, answered: (message) => void told.push(message) })] },
  );
  const refuse = (): never => {
    throw new RpcError(7, "no");
  };
  const call = requestText("add", [1, 2]);
  const notification = '{"jsonrpc":"2.0","method":"refuse"}';
  const later = requestText("later");
  const wrong = '{"jsonrpc":"2.0","method":5,"id":1}';
  await server.receive(call);
  await server.receive(` [${call} , ${notification},${later},${wrong},7]`);
  await server.receive(notification);
  await server.receive("{");
  await server.receive("[]");
  await server.receive(`[${"1,".repeat(100)}1]`);
  // A message that is too long is not read, and has no length.
  await server.receive(" ".repeat(1_048_577));
  const [first, ...rest] = told
    .sort((a, b) => (a.entry ?? -1) - (b.entry ?? -1))
    .map(({ entry, requestLength, context, error, reply, durationMs }) => [
      ...[entry, requestLength, context?.method, error?.code, reply?.result, durationMs],
    ]);
  expect(first).toEqual([undefined, call.length, "add", undefined, 3, 0]);
  expect(rest).toEqual([
    [undefined, notification.length, "refuse", 7, undefined, 0],
    [undefined, 1, undefined, -32700, undefined, 0],
    [undefined, 2, undefined, -32600, undefined, 0],
    [undefined, 203, undefined, -32600, undefined, 0],
    [undefined, 0, undefined, -32600, undefined, 0],
    [0, call.length, "add", undefined, 3, 0],
    [1, notification.length, "refuse", 7, undefined, 0],
    [2, later.length, "later", undefined, 1, 0],
    [3, wrong.length, undefined, -32600, undefined, 0],
    [4, 1, undefined, -32600, undefined, 0],
  ]);
});

test("an exception of a watch is logged once, and the others still run", async () => {
  const log = new RecordingLog();
  let heard = 0;
  const fail = (): never => {
    throw new Error("no");
  };
  const server = createServer(
    { count: stream({}, () => [1, 2, 3]), add: () => 1 },
    {
      log,
      use: [
        watching({ answered: fail, stream: fail, item: fail, connection: fail, queue: fail }),
        watching({ answered: () => void heard++, item: () => void heard++ }),
      ],
    },
  );
  const [link] = memoryPair(undefined, server);
  const client = createClient(link);
  const items: unknown[] = [];
  for await (const item of client.stream("count")) items.push(item);
  expect(items).toEqual([1, 2, 3]);
  expect(heard).toBe(4);
  expect(log.entries).toHaveLength(1);
  await client.close();
});

test("a call back may be wrapped", async () => {
  const seen: string[] = [];
  const server = createServer(
    { ask: method({}, (_, call) => call.peer.call("name")) },
    {
      use: [
        watching({
          callBack(request, send) {
            seen.push(request.method);
            return send({ ...request, tracestate: "a=1", traceparent: "00-x" });
          },
        }),
      ],
    },
  );
  const [link] = memoryPair(createServer({ name: () => "ada" }), server);
  const client = createClient(link);
  expect(await client.call("ask")).toBe("ada");
  expect(seen).toEqual(["name"]);
  await client.close();
});

test("a call back fails if what wraps it throws", async () => {
  const ask = method({}, (_, call) => call.peer.call("name").catch((error) => error.message));
  const callBack = (): never => {
    throw new Error("not today");
  };
  const server = createServer({ ask }, { use: [watching({ callBack })] });
  const [link] = memoryPair(createServer({ name: () => "ada" }), server);
  await using client = createClient(link);
  expect(await client.call("ask")).toBe("not today");
});

test("a cancelled call without a reply is reported", async () => {
  const told: Answered[] = [];
  const hang = method(
    {},
    (_, call) =>
      new Promise((_, reject) => {
        call.signal.addEventListener("abort", () => reject(call.signal.reason));
      }),
  );
  const server = createServer(
    { hang },
    { use: [watching({ answered: (message) => void told.push(message) })], log: silentLog },
  );
  const [ours, theirs] = memoryChannels();
  const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
  // Those of a protocol that does not answer cancelled calls.
  const notices: Notices = {
    cancel: (id) => ({ method: "drop", params: { id } }),
    read: (name, params) =>
      name === "drop" ? { kind: "cancel", id: (params as { id: number }).id } : undefined,
  };
  await using served = new Connection(ours, { service: server, transport, notices });
  await using client = new Connection(theirs, { transport, notices });
  const gone = new AbortController();
  const call = client.call("hang", [], { signal: gone.signal });
  while (server.running.size === 0) await new Promise((resolve) => setImmediate(resolve));
  gone.abort();
  await expect(call).rejects.toMatchObject({ code: "ABORTED" });
  while (server.running.size > 0) await new Promise((resolve) => setImmediate(resolve));
  expect(served.isOpen).toBe(true);
  expect(told).toMatchObject([
    { message: { method: "hang" }, error: { code: -32800 }, replyLength: 0 },
  ]);
});

test("a fetch handler reports what it refuses", async () => {
  const refused: number[] = [];
  const told: (number | undefined)[] = [];
  const server = createServer(
    {},
    {
      use: [
        watching({
          refused: (_, status) => void refused.push(status),
          answered: ({ error }) => void told.push(error?.code),
        }),
      ],
    },
  );
  const handle = fetchHandler(server);
  const post = (body: BodyInit, type = "application/json"): Request =>
    new Request("http://localhost/rpc", {
      method: "POST",
      headers: { "content-type": type },
      body,
    });
  await handle(post("x", "text/plain"));
  await handle(post("x".repeat(2 ** 21)));
  await handle(post(new Uint8Array([0xff, 0xfe])));
  await handle(new Request("http://localhost/rpc", { method: "OPTIONS" }));
  expect(refused).toEqual([415, 413]);
  expect(told).toEqual([-32700]);
});
