import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createClient, stream } from "callwire";
import { sseLink } from "callwire/sse";
import { FakeClock } from "callwire/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Clock, systemClock } from "../../../src/protocol/clock.ts";
import { deferred } from "../contract/wire.ts";
import { startProxy } from "../contract.ts";
import { turn } from "../contract-methods.ts";
import { serve } from "../http/wire.ts";

function clientOf(url: string, options: Parameters<typeof sseLink>[1] = {}) {
  const link = sseLink(url, options);
  onTestFinished(() => link.close());
  return createClient<{
    add(a: number, b: number): number;
    later(value: unknown): unknown;
    [name: string]: (...args: never[]) => unknown;
  }>(link);
}

type Step = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that answers each request with the next of these steps. */
async function scripted(...steps: Step[]): Promise<{ url: string; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server = createHttpServer((request, response) => {
    request.resume();
    const step = steps[seen.length] ?? (() => response.destroy());
    seen.push(request);
    step(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/rpc`, seen };
}

const item = (value: number, id = `s.${value}`) =>
  `id: ${id}\ndata: {"jsonrpc":"2.0","method":"$/stream","params":{"id":1,"value":${value}}}\n\n`;

/** Sends events and breaks the connection, or ends the stream in good order. */
function sending(text: string, end: "cut" | "end"): Step {
  return (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (end === "end") response.end(text);
    else response.write(text, () => setImmediate(() => response.destroy()));
  };
}

const refusing =
  (status: number, body = ""): Step =>
  (_, response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(body);
  };

/** The reply to the first request; a script does not know its id. */
const anyError = 'data: {"jsonrpc":"2.0","error":{"code":7,"message":"the end"},"id":null}\n\n';

async function read(url: string, options?: Parameters<typeof sseLink>[1]): Promise<unknown[]> {
  const items: unknown[] = [];
  try {
    for await (const value of clientOf(url, options).stream("m")) items.push(value);
  } catch (error) {
    items.push((error as { code: unknown }).code);
  }
  return items;
}

test("every call accepts events", async () => {
  const { url, seen } = await scripted(sending(anyError, "end"));
  await expect(clientOf(url, { headers: { "X-Key": "k" } }).call("m")).rejects.toMatchObject({
    code: 7,
  });
  expect(seen[0]?.headers).toMatchObject({
    accept: "text/event-stream",
    "content-type": "application/json",
    "x-key": "k",
  });
});

test("calls, batches, notifications and streams work", async () => {
  const { url } = await serve({
    add: (a: number, b: number) => a + b,
    later: async (value: unknown) => value,
    count: stream({}, async function* (params) {
      for (let i = 0; i < (params as number[])[0]!; i++) yield i;
    }),
  });
  const client = clientOf(url);
  expect(await client.call("add", [2, 3])).toBe(5);
  expect(await client.batch((b) => [b.add(1, 2), b.later("x")])).toEqual([3, "x"]);
  await client.notify("later", ["x"]);
  const items: unknown[] = [];
  for await (const value of client.stream("count", [500])) items.push(value);
  expect(items).toHaveLength(500);
});

test("a call whose caller left while its headers were made is not sent", async () => {
  const headers = deferred<Record<string, string>>();
  const { url, seen } = await scripted(refusing(200, '{"jsonrpc":"2.0","result":1,"id":null}'));
  const client = clientOf(url, { headers: () => headers.promise });
  const cancel = new AbortController();
  const call = client.call("m", [], { signal: cancel.signal });
  cancel.abort();
  await expect(call).rejects.toMatchObject({ code: "ABORTED" });
  headers.resolve({});
  await turn();
  await expect(client.call("other")).rejects.toMatchObject({ code: "BAD_REPLY" });
  expect(seen).toHaveLength(1);
});

describe("a stream that is cut", () => {
  test.each(["cut", "end"] as const)("(%s) continues after the last whole event", async (end) => {
    const { url, seen } = await scripted(
      sending(`${item(1)}${item(2)}id: s.3\ndata: {"jsonrpc"`, end),
      sending(`${item(3)}${anyError}`, "end"),
    );
    expect(await read(url, { headers: { authorization: "me" } })).toEqual([1, 2, 3, 7]);
    expect(seen.map(({ method }) => method)).toEqual(["POST", "GET"]);
    expect(seen[1]?.headers).toMatchObject({
      accept: "text/event-stream",
      "last-event-id": "s.2",
      authorization: "me",
    });
  });

  test("is requested again while the server restarts", async () => {
    const { url, seen } = await scripted(
      sending(`retry: 1\n${item(1)}`, "cut"),
      (_, response) => response.destroy(),
      refusing(503, "<html>"),
      sending("", "cut"),
      sending(`${item(2)}${anyError}`, "end"),
    );
    expect(await read(url)).toEqual([1, 2, 7]);
    expect(seen).toHaveLength(5);
  });

  test("fails after a number of attempts without progress", async () => {
    const { url, seen } = await scripted(sending(`retry: 1\n${item(1)}`, "cut"));
    expect(await read(url, { maxResumes: 3 })).toEqual([1, "CONNECTION_LOST"]);
    expect(seen).toHaveLength(4);
  });

  test("is lost, and may have run, if a stopping server refuses the next one", async () => {
    const stops = refusing(
      503,
      '{"jsonrpc":"2.0","error":{"code":-32006,"message":"Server is shutting down","data":{"ran":false,"reason":"stopping"}},"id":null}',
    );
    const back = await scripted(
      sending(`retry: 1\n${item(1)}`, "cut"),
      stops,
      sending(`${item(2)}${anyError}`, "end"),
    );
    expect(await read(back.url)).toEqual([1, 2, 7]);
    const gone = await scripted(sending(`retry: 1\n${item(1)}`, "cut"), stops, stops);
    expect(await read(gone.url, { maxResumes: 2 })).toEqual([1, "CONNECTION_LOST"]);
  });

  test("is lost, and may have run, if the server no longer answers", async () => {
    const { url } = await scripted((request, response) => {
      (request.socket as Socket & { server: Server }).server.close();
      sending(`retry: 1\n${item(1)}`, "cut")(request, response);
    });
    expect(await read(url, { maxResumes: 2 })).toEqual([1, "CONNECTION_LOST"]);
  });

  test("starts counting again with each event", async () => {
    const { url } = await scripted(
      sending(`retry: 1\n${item(1)}`, "cut"),
      sending(item(2), "cut"),
      sending(item(3), "cut"),
      sending(`${item(4)}${anyError}`, "end"),
    );
    expect(await read(url, { maxResumes: 1 })).toEqual([1, 2, 3, 4, 7]);
  });

  test("is requested again at once, and later ten times a second at most, whatever the server asks for", async () => {
    const pauses: number[] = [];
    const clock: Clock = {
      now: () => 0,
      elapsed: () => 0,
      after(delayMs, run, holds) {
        if (holds) pauses.push(delayMs);
        return systemClock.after(holds ? 0 : delayMs, run, holds);
      },
    };
    const { url } = await scripted(
      sending(`retry: 0\n${item(1)}`, "end"),
      sending(item(2), "end"),
      sending(item(3), "cut"),
      sending(`${item(4)}${anyError}`, "end"),
    );
    expect(await read(url, { clock })).toEqual([1, 2, 3, 4, 7]);
    expect(pauses).toEqual([0, 100, 100]);
  });

  test("without ids is lost, and the call is not sent again", async () => {
    const { url, seen } = await scripted(sending(item(1).replace(/id: .*\n/, ""), "cut"));
    expect(await read(url)).toEqual([1, "CONNECTION_LOST"]);
    expect(seen).toHaveLength(1);
  });

  test("before its first event is lost, and the call is not sent again", async () => {
    const { url, seen } = await scripted((_, response) => response.destroy());
    expect(await read(url)).toEqual(["CONNECTION_LOST"]);
    expect(seen).toHaveLength(1);
  });

  test("and that the server has forgotten is lost", async () => {
    const { url, seen } = await scripted(
      sending(item(1), "cut"),
      refusing(404, '{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}'),
    );
    expect(await read(url)).toEqual([1, "CONNECTION_LOST"]);
    expect(seen).toHaveLength(2);
  });

  test("is not requested again by a caller that left", async () => {
    const cut = deferred();
    const { url, seen } = await scripted((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(item(1));
      response.on("close", () => cut.resolve());
    }, refusing(204));
    for await (const _ of clientOf(url).stream("m")) break;
    await cut.promise;
    await expect.poll(() => seen.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
    expect(seen[1]?.headers["last-event-id"]).toBe("s.1");
  });

  test("is not requested again by a caller that left between two connections", async () => {
    const clock = new FakeClock();
    const { url, seen } = await scripted(sending(item(1), "cut"));
    const cancel = new AbortController();
    const items = clientOf(url, { clock })
      .stream("m", [], { signal: cancel.signal })
      [Symbol.asyncIterator]();
    expect(await items.next()).toMatchObject({ value: 1 });
    const methods = (): unknown[] => seen.map(({ method }) => method);
    await expect
      .poll(() => {
        clock.advance(0);
        return methods();
      })
      .toEqual(["POST", "GET"]);
    // Only the time to the next attempt is left.
    await expect.poll(() => clock.waiting).toBe(1);
    cancel.abort();
    await expect(items.next()).rejects.toMatchObject({ code: "ABORTED" });
    await expect.poll(methods).toEqual(["POST", "GET", "DELETE"]);
    // However long the server asked clients to wait, nothing waits any more.
    expect(clock.waiting).toBe(0);
    clock.advance(10_000);
    await turn();
    // A test that reads this listens for silence.
    expect(clock.waiting).toBe(0);
    expect(seen).toHaveLength(3);
  });

  test("is requested again when its server is silent", async () => {
    const clock = new FakeClock();
    const silent: Step = (_, response) => void response.on("close", () => closed++);
    let closed = 0;
    const { url, seen } = await scripted(
      (request, response) => {
        silent(request, response);
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(item(1));
      },
      silent,
      sending(`${item(2)}${anyError}`, "end"),
    );
    const items = clientOf(url, { clock }).stream<number>("m")[Symbol.asyncIterator]();
    expect(await items.next()).toMatchObject({ value: 1 });
    const second = items.next();
    for (let asked = 1; asked < 3; asked++) {
      await expect.poll(() => [seen.length, clock.waiting]).toEqual([asked, 1]);
      clock.advance(39_999);
      expect(closed).toBe(asked - 1);
      clock.advance(1);
      await expect.poll(() => closed).toBe(asked);
      // The pause before the next attempt.
      await expect.poll(() => clock.waiting).toBe(1);
      clock.advance(2_000);
    }
    expect(await second).toMatchObject({ value: 2 });
    await expect(items.next()).rejects.toMatchObject({ code: 7 });
    expect(seen.map(({ method }) => method)).toEqual(["POST", "GET", "GET"]);
    expect(clock.waiting).toBe(0);
  });

  test("loses and repeats no item over a real connection that keeps breaking", async () => {
    const { port } = await serve(
      {
        count: stream({}, async function* () {
          for (let i = 0; i < 2000; i++) yield i;
        }),
      },
      // Messages that are on their way when a connection breaks must be kept.
      { replay: { maxEvents: 2001 } },
    );
    const proxy = await startProxy({ port });
    onTestFinished(() => proxy.close());
    const items: number[] = [];
    for await (const value of clientOf(`http://127.0.0.1:${proxy.port}/rpc`).stream<number>(
      "count",
    )) {
      items.push(value);
      if (value % 300 === 299) proxy.cut();
    }
    expect(items).toEqual(Array.from({ length: 2000 }, (_, i) => i));
  });
});

describe("replies that are not events", () => {
  test("an error of JSON-RPC is that error", async () => {
    const body = '{"jsonrpc":"2.0","error":{"code":-32001,"message":"no"},"id":null}';
    const { url } = await scripted(refusing(401, body));
    await expect(clientOf(url).call("m")).rejects.toMatchObject({ name: "RpcError", code: -32001 });
  });

  test("a page of a proxy is its status, and the call is not sent again", async () => {
    const { url, seen } = await scripted(refusing(502, "<html>"));
    await expect(clientOf(url).call("m")).rejects.toMatchObject({
      code: "HTTP_STATUS",
      status: 502,
    });
    expect(seen).toHaveLength(1);
  });

  test("an event that is too long is a bad reply", async () => {
    const { url } = await scripted(sending(`data: ${"x".repeat(2000)}`, "cut"));
    await expect(clientOf(url, { maxReplyBytes: 1000 }).call("m")).rejects.toMatchObject({
      code: "BAD_REPLY",
    });
  });
});
