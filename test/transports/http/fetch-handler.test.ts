import {
  createClient,
  createServer,
  type Methods,
  method,
  RpcError,
  type ServerOptions,
  silentLog,
  stream,
} from "callwire";
import { fetchHandler, httpLink } from "callwire/http";
import { sseLink } from "callwire/sse";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { deferred } from "../contract/wire.ts";
import { add, json, sum } from "./wire.ts";

const methods = {
  add: (a: number, b: number) => a + b,
  later: async (value: unknown) => value,
  report: method({}, (_, call) => {
    call.progress("half");
    return "done";
  }),
  count: stream({}, async function* (params) {
    for (let i = 0; i < (params as number[])[0]!; i++) yield i;
  }),
  refuse: () => {
    throw new RpcError(-32001, "Refused", undefined, {
      status: 429,
      headers: { "retry-after": "7" },
    });
  },
};

type HandlerOptions = Parameters<typeof fetchHandler>[1];

function handlerOf(
  served: Methods = methods,
  options?: HandlerOptions,
  serverOptions?: ServerOptions,
) {
  const handler = fetchHandler(createServer(served, { log: silentLog, ...serverOptions }), options);
  return (init: RequestInit & { url?: string } = {}) =>
    handler(
      new Request(init.url ?? "http://localhost/rpc", {
        method: "POST",
        headers: json,
        ...("body" in init || init.method !== undefined ? {} : { body: add }),
        ...init,
      }),
    );
}

const call = (name: string, params: unknown[] = []) =>
  JSON.stringify({ jsonrpc: "2.0", method: name, params, id: 1 });

describe("statuses", () => {
  test("a reply is 200", async () => {
    const ask = handlerOf();
    const answer = await ask();
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(await answer.text()).toBe(sum);
    expect(await (await ask({ body: call("later", [7]) })).json()).toMatchObject({ result: 7 });
    expect(await (await ask({ body: "{" })).json()).toMatchObject({ error: { code: -32700 } });
  });

  test("no reply is 204, or what the option says", async () => {
    const body = '{"jsonrpc":"2.0","method":"later"}';
    expect((await handlerOf()({ body })).status).toBe(204);
    expect((await handlerOf(methods, { noReplyStatus: 202 })({ body })).status).toBe(202);
  });

  test("an error that asks for a status gets it", async () => {
    const answer = await handlerOf()({ body: call("refuse") });
    expect(answer.status).toBe(429);
    expect(answer.headers.get("retry-after")).toBe("7");
    expect(await answer.json()).toMatchObject({ error: { code: -32001 }, id: 1 });
  });

  test("a batch of nothing but such errors gets it, with their headers", async () => {
    const ask = handlerOf();
    const refuse = call("refuse");
    const refused = await ask({ body: `[${refuse},${refuse}]` });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "7"]);
    expect((await ask({ body: `[${refuse},${add}]` })).status).toBe(200);
  });

  test.each<[number, RequestInit & { url?: string }]>([
    [405, { method: "GET" }],
    [405, { method: "PUT", body: add }],
    [415, { headers: { "content-type": "text/plain" } }],
    [415, { headers: { ...json, "content-encoding": "br" } }],
    [403, { headers: { ...json, host: "evil.example" } }],
    [403, { url: "http://evil.example/rpc" }],
    [403, { headers: { ...json, origin: "https://evil.example" } }],
    [403, { headers: { ...json, origin: "null" } }],
    [403, { headers: { ...json, "sec-fetch-site": "cross-site" } }],
    [413, { headers: { ...json, "content-length": "99999999" } }],
    [413, { body: "x".repeat(2 ** 20 + 1) }],
    [413, { headers: { ...json, "content-length": "5" }, body: "x".repeat(2 ** 20 + 1) }],
  ])("%i for %j", async (status, init) => {
    let calls = 0;
    const answer = await handlerOf({ add: () => ++calls })(init);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { code: -32600 }, id: null });
    expect(calls).toBe(0);
  });

  test("OPTIONS is 204, with CORS headers for listed origins", async () => {
    const ask = handlerOf(methods, { origins: ["https://app.example"] });
    const preflight = (origin: string) => ask({ method: "OPTIONS", headers: { origin } });
    const listed = await preflight("https://app.example");
    expect([listed.status, listed.headers.get("allow")]).toEqual([204, "POST, OPTIONS"]);
    expect(listed.headers.get("access-control-allow-origin")).toBe("https://app.example");
    const other = await preflight("https://evil.example");
    expect([other.status, other.headers.get("access-control-allow-origin")]).toEqual([204, null]);
    const reply = await ask({ headers: { ...json, origin: "https://app.example" } });
    expect(reply.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(await reply.text()).toBe(sum);
  });

  test("bytes that are not UTF-8, and a byte order mark, are parse errors", async () => {
    for (const body of [Uint8Array.of(0x22, 0xff, 0x22), Buffer.from(`\u{feff}${add}`)]) {
      const answer = await handlerOf()({ body });
      expect(await answer.json()).toMatchObject({ error: { code: -32700 }, id: null });
    }
  });

  test("a body that other code has read before is 500", async () => {
    const handler = fetchHandler(createServer(methods, { log: silentLog }));
    const request = new Request("http://localhost/rpc", {
      method: "POST",
      headers: json,
      body: add,
    });
    await request.text();
    expect((await handler(request)).status).toBe(500);
  });

  test("a body in chunks is put together and counted", async () => {
    const chunked = (text: string) => {
      const parts = [...text].map((part) => new TextEncoder().encode(part));
      return new ReadableStream({
        pull(controller) {
          const part = parts.shift();
          if (part === undefined) controller.close();
          else controller.enqueue(part);
        },
      });
    };
    const ask = handlerOf(methods, {}, { limits: { maxMessageBytes: 100 } });
    const duplex = { duplex: "half" } as RequestInit;
    expect(await (await ask({ ...duplex, body: chunked(add) })).text()).toBe(sum);
    expect((await ask({ ...duplex, body: chunked("x".repeat(101)) })).status).toBe(413);
  });
});

test("the caller's address, headers and time reach the handler", async () => {
  const server = createServer({
    look: method({}, async (_, { transport }) => ({
      kind: transport.kind,
      address: transport.remoteAddress ?? null,
      key: transport.headers["x-key"],
      timeoutMs: transport.timeoutMs,
    })),
  });
  const handler = fetchHandler(server, {
    remoteAddress: (_, info) => (info as { address: string }).address,
  });
  const request = new Request("http://localhost/rpc", {
    method: "POST",
    headers: { ...json, "x-key": "k", "timeout-ms": "500" },
    body: call("look"),
  });
  const answer = await handler(request, { address: "10.0.0.1" });
  expect(await answer.json()).toMatchObject({
    result: { kind: "http", address: "10.0.0.1", key: "k", timeoutMs: 500 },
  });
});

test("a client that leaves ends its call", async () => {
  const started = deferred<AbortSignal>();
  const ask = handlerOf({
    wait: method({}, (_, { signal }) => {
      started.resolve(signal);
      return new Promise(() => {});
    }),
  });
  const controller = new AbortController();
  const answer = ask({ body: call("wait"), signal: controller.signal });
  const signal = await started.promise;
  controller.abort();
  expect(signal.aborted).toBe(true);
  expect(await (await answer).json()).toMatchObject({ error: { code: -32800 } });
});

describe("events", () => {
  const events = { ...json, accept: "text/event-stream" };
  const either = { ...json, accept: "application/json, text/event-stream" };
  const ids = (text: string) => Array.from(text.matchAll(/^id: (.*)$/gm), ([, id]) => id as string);

  test("the items of a stream come before its reply", async () => {
    const ask = handlerOf();
    const answer = await ask({ headers: events, body: call("count", [2]) });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    expect(answer.headers.get("x-accel-buffering")).toBe("no");
    const text = await answer.text();
    expect(text.match(/"value":\d/g)).toEqual(['"value":0', '"value":1']);
    expect(text).toMatch(/"result":null,"id":1\}\n\n$/);
  });

  test("a client that accepts both gets events only if something is sent before the reply", async () => {
    const ask = handlerOf();
    for (const [name, type] of [
      ["add", "application/json"],
      ["later", "application/json"],
      ["report", "text/event-stream"],
      ["count", "text/event-stream"],
    ] as const) {
      const answer = await ask({ headers: either, body: call(name, [2, 3]) });
      expect([name, answer.headers.get("content-type")]).toEqual([name, type]);
      expect(ids(await answer.text())).toEqual([]);
    }
  });

  test("a reader that leaves ends the stream, and one that is slow stops it", async () => {
    let made = 0;
    const ended = deferred();
    const ask = handlerOf({
      endless: stream({}, async function* () {
        try {
          for (;;) {
            made++;
            yield "x".repeat(1024);
          }
        } finally {
          ended.resolve();
        }
      }),
    });
    const answer = await ask({ headers: either, body: call("endless") });
    for (let i = 0; i < 100; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(made).toBeLessThan(200);
    await answer.body?.cancel();
    await ended.promise;
  });

  describe("a request that is aborted", () => {
    /** A stream that stops on request, and reports its end. */
    function ticking(options?: HandlerOptions, most = Number.POSITIVE_INFINITY) {
      const asked = deferred();
      const begun = deferred();
      const ended = deferred();
      const ask = handlerOf(
        {
          tick: stream({}, async function* () {
            begun.resolve();
            await asked.promise;
            try {
              for (let i = 0; i < most; i++) yield i;
            } finally {
              ended.resolve();
            }
          }),
        },
        options,
      );
      return { ask, asked, begun: begun.promise, ended: ended.promise };
    }

    test.each([
      ["events", events],
      ["either", either],
    ])("before the first item ends the stream (%s)", async (_, headers) => {
      const { ask, asked, begun, ended } = ticking({ graceMs: 0 });
      const controller = new AbortController();
      const answer = ask({ headers, body: call("tick"), signal: controller.signal });
      await begun;
      controller.abort();
      asked.resolve();
      await ended;
      await (await answer).text().catch(() => {});
    });

    test("in the middle ends the stream, and its body fails with the reason", async () => {
      const { ask, asked, ended } = ticking();
      asked.resolve();
      const controller = new AbortController();
      const { signal } = controller;
      const answer = await ask({ headers: either, body: call("tick"), signal });
      const reader = answer.body?.getReader();
      await reader?.read();
      controller.abort(new Error("enough"));
      await ended;
      await expect(reader?.read()).rejects.toThrow("enough");
    });

    test("in the middle of a resumable stream lets its reader resume", async () => {
      const clock = new FakeClock();
      const { ask, asked, ended } = ticking({ clock, graceMs: 5000 });
      const controller = new AbortController();
      const { signal } = controller;
      const answer = await ask({ headers: events, body: call("tick"), signal });
      const { value } = (await answer.body?.getReader().read()) ?? {};
      const [first] = ids(new TextDecoder().decode(value));
      controller.abort();
      clock.advance(4999);
      asked.resolve();
      const again = new AbortController();
      const resumed = await ask({
        method: "GET",
        headers: { accept: "text/event-stream", "last-event-id": first as string },
        signal: again.signal,
      });
      const reader = resumed.body?.getReader();
      expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('"value":0');
      again.abort();
      clock.advance(5000);
      await ended;
    });

    test("before it arrived runs nothing for long", async () => {
      for (const headers of [events, either]) {
        const { ask, asked, ended } = ticking();
        const answer = ask({ headers, body: call("tick"), signal: AbortSignal.abort() });
        asked.resolve();
        await ended;
        await (await answer).text().catch(() => {});
      }
    });

    test("after the end changes nothing", async () => {
      const { ask, asked } = ticking({}, 2);
      asked.resolve();
      const controller = new AbortController();
      const { signal } = controller;
      const answer = await ask({ headers: either, body: call("tick"), signal });
      const reader = answer.body?.getReader();
      await reader?.read();
      // All of it is written now, and not read yet.
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      let rest = "";
      for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
        rest += new TextDecoder().decode(part.value);
      }
      expect(rest).toMatch(/"result":null,"id":1\}\n\n$/);
    });
  });

  test.each([
    ["httpLink", httpLink],
    ["sseLink", sseLink],
  ])("leaving a stream of %s in this process stops its producer", async (_, linkTo) => {
    const ended = deferred();
    const served = {
      endless: stream({}, async function* () {
        try {
          for (let i = 0; ; i++) yield i;
        } finally {
          ended.resolve();
        }
      }),
    };
    const server = createServer(served, { log: silentLog });
    const handler = fetchHandler(server);
    const link = linkTo("http://localhost/rpc", {
      fetch: async (url: RequestInfo | URL, init?: RequestInit) => handler(new Request(url, init)),
    });
    const client = createClient<typeof served>(link);
    for await (const item of client.api.endless()) if (item === 3) break;
    await ended.promise;
    await client.close();
    // The calls are over, so there is nothing to wait for.
    await server.close({ drainMs: 60_000 });
  });

  test("a reader is disconnected when more than the limit was written to it", async () => {
    const stopped = deferred<number>();
    const ask = handlerOf(
      {
        noise: method({}, async (_, context) => {
          let sent = 0;
          while (sent < 10_000 && context.notify("noise", ["x".repeat(1024)])) sent++;
          stopped.resolve(sent);
        }),
      },
      {},
      { limits: { maxBufferedBytes: 64 * 1024 } },
    );
    const answer = await ask({ headers: either, body: call("noise") });
    expect(await stopped.promise).toBeLessThan(200);
    await expect(answer.text()).rejects.toThrow();
  });

  test("a stream is resumed after the last event that arrived", async () => {
    const ask = handlerOf();
    const text = await (await ask({ headers: events, body: call("count", [3]) })).text();
    const [, first] = ids(text);
    const headers = { accept: "text/event-stream", "last-event-id": first as string };
    const rest = await (await ask({ method: "GET", headers })).text();
    expect(text.endsWith(rest)).toBe(true);
    expect(rest.match(/"value":\d/g)).toEqual(['"value":1', '"value":2']);
    const foreign = { ...headers, "last-event-id": "1" };
    expect((await ask({ method: "GET", headers: foreign })).status).toBe(404);
    expect((await ask({ method: "DELETE", headers })).status).toBe(204);
    expect((await ask({ method: "GET", headers })).status).toBe(404);
  });

  test("a call whose reader does not come back ends after a while", async () => {
    const clock = new FakeClock();
    const started = deferred<AbortSignal>();
    const ask = handlerOf(
      {
        wait: method({}, (_, { signal }) => {
          started.resolve(signal);
          return new Promise(() => {});
        }),
      },
      { clock, graceMs: 5000 },
    );
    const answer = await ask({ headers: events, body: call("wait") });
    const signal = await started.promise;
    await answer.body?.cancel();
    clock.advance(4999);
    expect(signal.aborted).toBe(false);
    clock.advance(1);
    expect(signal.aborted).toBe(true);
  });

  test("the plain form ends with [DONE], by GET and by POST", async () => {
    const ask = handlerOf();
    const url = "http://localhost/rpc/stream";
    const plain = 'data: {"jsonrpc":"2.0","result":0,"id":1}\n\ndata: [DONE]\n\n';
    const got = await ask({ url: `${url}?method=count&params=[1]`, method: "GET", headers: {} });
    expect(await got.text()).toBe(plain);
    expect(await (await ask({ url, body: call("count", [1]) })).text()).toBe(plain);
    const refused = await ask({ url: `${url}?method=add`, method: "GET", headers: {} });
    expect(refused.status).toBe(405);
  });
});
