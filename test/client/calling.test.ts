import {
  type CallOptions,
  type Client,
  createClient,
  createServer,
  type Link,
  method,
  silentLog,
  stream,
} from "callwire";
import { memoryPair } from "callwire/connection";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { webSocketLink } from "callwire/ws";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";

const id = z.object({ id: z.string() });
const methods = {
  get: method({ params: id, result: z.string() }, ({ id }) => `task ${id}`),
  now: () => 5,
  echo: (...values: unknown[]) => values,
  block: (filter: { name: string }, at: string) => [filter.name, at],
  until: method({ params: id }, (_, call) => {
    call.progress({ percent: 50 });
    return new Promise((resolve) => call.signal.addEventListener("abort", () => resolve("late")));
  }),
  report: method({ params: id, progress: z.number().transform(String) }, (_, call) => {
    call.progress(1);
    call.progress("two" as never);
  }),
  count: stream({ params: z.object({ to: z.number() }), item: z.number() }, function* ({ to }) {
    for (let i = 0; i < to; i++) yield i;
  }),
};
type Methods = typeof methods;

/** The params of each request as they came from the wire. */
const received: unknown[] = [];
const server = createServer(methods, {
  log: silentLog,
  use: [
    (next) => (request, context) => {
      received.push(request.params);
      return next(request, context);
    },
  ],
});
const { url } = await serveHttp(server, { port: 0 });
afterAll(() => server.close());

const wires: Record<string, () => Link> = {
  HTTP: () => httpLink(url),
  WebSocket: () => webSocketLink(`${url.replace("http", "ws")}/ws`),
  memory: () => memoryPair(undefined, server)[0],
};

describe.each(Object.keys(wires))("over %s", (wire) => {
  const client: Client<Methods> = createClient<Methods>((wires[wire] as () => Link)());
  const { api } = client;
  afterAll(() => client.close());

  test("a method is a callback of an array, and only its params are sent", async () => {
    received.length = 0;
    expect(await Promise.all([{ id: "1" }, { id: "2" }].map(api.get))).toEqual([
      "task 1",
      "task 2",
    ]);
    expect(received).toEqual([{ id: "1" }, { id: "2" }]);
  });

  test("a second object has options, and its other members are ignored", async () => {
    received.length = 0;
    const mutationFn: (variables: { id: string }, context: object) => Promise<string> = api.get;
    const context = { client: { self: undefined as unknown }, meta: undefined, mutationKey: ["a"] };
    context.client.self = context;
    expect(await mutationFn({ id: "1" }, context)).toBe("task 1");
    expect(received).toEqual([{ id: "1" }]);
  });

  test("options reach the call", async () => {
    const cancel = new AbortController();
    const reports: unknown[] = [];
    const options: CallOptions = {
      signal: cancel.signal,
      onProgress: (value) => {
        reports.push(value);
        cancel.abort();
      },
    };
    await expect(api.until({ id: "1" }, options)).rejects.toMatchObject({ code: "ABORTED" });
    expect(reports).toEqual([{ percent: 50 }]);
    await expect(api.now(undefined, { timeoutMs: -1 })).rejects.toThrow(TypeError);
    await expect(
      client.batch((b) => [b.get({ id: "1" }, { signal: AbortSignal.abort() })]),
    ).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("undefined before the options means no params", async () => {
    received.length = 0;
    expect(await api.now(undefined, { idempotent: true })).toBe(5);
    expect(await api.now(undefined, undefined as never)).toBe(5);
    expect(received).toEqual([undefined, undefined]);
  });

  test("other arguments are params by position", async () => {
    expect(await api.echo("a", { b: 1 }, 2)).toEqual(["a", { b: 1 }, 2]);
    expect(await api.block({ name: "a" }, "latest")).toEqual(["a", "latest"]);
    expect(await api.echo({ a: 1 }, 0, [])).toEqual([{ a: 1 }, 0, []]);
    expect(await api.echo(undefined, undefined, 3)).toEqual([null, null, 3]);
    expect(await client.call("echo", [{ a: 1 }, { b: 2 }])).toEqual([{ a: 1 }, { b: 2 }]);
  });

  test("a stream takes options too", async () => {
    const items: number[] = [];
    for await (const item of api.count({ to: 3 }, { idempotent: true })) items.push(item);
    expect(items).toEqual([0, 1, 2]);
  });

  test("progress is checked and converted by its schema", async () => {
    const reports: string[] = [];
    const call = api.report({ id: "1" }, { onProgress: (value) => reports.push(value) });
    await expect(call).rejects.toMatchObject({ code: -32603 });
    expect(reports).toEqual(["1"]);
  });
});
