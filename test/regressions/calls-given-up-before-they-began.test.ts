import { once } from "node:events";
import {
  createClient,
  createServer,
  type Methods,
  type Middleware,
  method,
  Origin,
  type Schema,
  stream,
} from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { requestText } from "../server/asking.ts";
import { deferred } from "../transports/contract/wire.ts";
import { turn } from "../transports/contract-methods.ts";

/** Middleware that takes some time before a method, and how often the method ran. */
function slow() {
  const ran: string[] = [];
  const opened = deferred();
  const use: Middleware = (next) => async (request, context) => {
    await opened.promise;
    return next(request, context);
  };
  const params: Schema = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: async (value) => {
        await opened.promise;
        return { value };
      },
    },
  };
  return { ran, opened, use, params };
}

test.each(["a method", "a stream", "params that are checked"])(
  "a call does not start after its timeout: %s",
  async (kind) => {
    const { ran, opened, use, params } = slow();
    const methods: Record<string, Methods> = {
      "a method": { pay: () => ran.push("pay") },
      "a stream": {
        pay: stream({}, async function* () {
          ran.push("pay");
          yield 1;
        }),
      },
      "params that are checked": { pay: method({ params }, () => ran.push("pay")) },
    };
    const isChecked = kind === "params that are checked";
    const clock = new FakeClock();
    const server = createServer(methods[kind] as Methods, {
      clock,
      timeoutMs: 1_000,
      use: isChecked ? [] : [use],
    });
    const origin = new Origin(undefined, { ...new Origin().peer, canNotify: true });
    const reply = server.receive(requestText("pay", []), origin);
    clock.advance(2_000);
    expect(JSON.parse((await reply) as string).error.code).toBe(-32003);
    opened.resolve();
    for (let i = 0; i < 5; i++) await turn();
    expect(ran).toEqual([]);
    expect(server.running.size).toBe(0);
  },
);

test.each([
  ["2.0", requestText("note", [], { id: undefined })],
  ["1.0", requestText("note", [], { jsonrpc: undefined, id: null })],
])(
  "a notification of %s starts even after its timeout, because its sender would not learn of it",
  async (_, text) => {
    const { ran, opened, use } = slow();
    const clock = new FakeClock();
    const server = createServer(
      { note: () => ran.push("note") },
      { clock, timeoutMs: 1_000, use: [use], versions: ["1.0", "2.0"] },
    );
    const done = server.receive(text);
    clock.advance(2_000);
    opened.resolve();
    await done;
    for (let i = 0; i < 5; i++) await turn();
    expect(ran).toEqual(["note"]);
  },
);

test.each(["tcp", "http"])("a call that its caller gave up does not begin: %s", async (wire) => {
  const ran: string[] = [];
  const arrived = deferred();
  // Waits until the caller is gone.
  const use: Middleware = (next) => async (request, context) => {
    arrived.resolve();
    await once(context.signal, "abort");
    return next(request, context);
  };
  const server = createServer({ pay: () => ran.push("pay") }, { use: [use] });
  onTestFinished(() => server.close({ drainMs: 0 }));
  const link =
    wire === "tcp"
      ? tcpLink({ port: (await serveSocket(server, { port: 0 })).port as number })
      : httpLink(`http://127.0.0.1:${(await serveHttp(server, { port: 0 })).port}/rpc`);
  const client = createClient(link);
  onTestFinished(() => client.close());
  const cancel = new AbortController();
  const call = client.call("pay", [], { signal: cancel.signal });
  await arrived.promise;
  cancel.abort();
  await expect(call).rejects.toMatchObject({ code: "ABORTED" });
  await expect.poll(() => server.running.size).toBe(0);
  expect(ran).toEqual([]);
});
