import { createClient, createServer, method, Origin, RpcError, stream } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { Behind, clientOf, start } from "./behind.ts";

const named = (name: string) => ({ who: () => name, deep: { er: { who: () => `deep ${name}` } } });

async function twoServers() {
  const [one, two] = await Promise.all([Behind.start(named("one")), Behind.start(named("two"))]);
  return {
    one: { targets: { one: () => one.link() } },
    two: { targets: { two: () => two.link() } },
  };
}

describe("routes", () => {
  test("a full name is closer than a prefix, and a long prefix than a short one", async () => {
    const gateway = await start({
      upstreams: await twoServers(),
      routes: [
        { method: "*", to: "one" },
        { method: "deep/*", to: "two" },
        { method: "deep/er/who", to: "one" },
        { method: "other", to: "two", rename: "who" },
      ],
    });
    const client = clientOf(gateway);
    expect(await client.call("who")).toBe("one");
    expect(await client.call("deep/er/who")).toBe("deep one");
    expect(await client.call("other")).toBe("two");
    await expect(client.call("deep/none")).rejects.toMatchObject({ code: -32601 });
  });

  test("a prefix is put before names, or taken from them", async () => {
    const gateway = await start({
      upstreams: await twoServers(),
      routes: [
        { method: "first/*", to: "one", rename: "*" },
        { method: "flat*", to: "two", rename: "deep/*" },
      ],
    });
    const client = clientOf(gateway);
    expect(await client.call("first/who")).toBe("one");
    expect(await client.call("flater/who")).toBe("deep two");
    await expect(client.call("who")).rejects.toMatchObject({ code: -32601 });
  });

  test("what cannot be meant is refused at the start, and says why", async () => {
    const upstreams = await twoServers();
    const refusal = (routes: Parameters<typeof start>[0]["routes"]) =>
      expect(start({ upstreams, routes })).rejects;
    await refusal([{ method: "a*b", to: "one" }]).toThrow("method may have one star, at its end");
    await refusal([{ method: "a/*", to: "one", rename: "b" }]).toThrow(
      "rename must end with a star",
    );
    await refusal([{ method: "a", to: "three" }]).toThrow('"three", which is not an upstream');
    await refusal([{ method: "rpc.discover", to: "one" }]).toThrow("reserved for the gateway");
    await refusal([
      { method: "a", to: "one" },
      { method: "a", to: "two" },
    ]).toThrow('"a" is defined twice');
    await refusal([
      { method: "a/*", to: "one" },
      { method: "a/*", to: "one", rename: "b/*" },
    ]).toThrow('"a/*" is defined twice');
    for (const name of ["attempts", "maxInFlight", "timeoutMs"]) {
      await refusal([{ method: "a", to: "one", [name]: 0 }]).toThrow(
        `${name} must be a number above 0`,
      );
    }
    await expect(start({ upstreams: { none: { targets: {} } }, routes: [] })).rejects.toThrow(
      "has no targets",
    );
    const unclear = start({ upstreams, routes: [] }, { describeTimeoutMs: Number.NaN });
    await expect(unclear).rejects.toThrow(
      "describeTimeoutMs must be a number of at least 1, not NaN",
    );
    // In JavaScript any value is possible there.
    for (const [upstream, sentence] of [
      [{ url: "http://127.0.0.1" }, "has no targets"],
      [{ targets: { one: "http://127.0.0.1" } }, "must be a function that returns a link"],
      [
        { ...upstreams.one, balance: "random" },
        'balance must be "round-robin", "least-in-flight" or',
      ],
      [{ ...upstreams.one, per: "caller" }, 'per must be "gateway" or "connection", not "caller"'],
      [{ ...upstreams.one, version: 1 }, 'version must be "1.0" or "2.0", not "1"'],
      [
        { ...upstreams.one, healthCheck: { everyMs: Number.NaN } },
        "everyMs must be a number above 0",
      ],
      [{ ...upstreams.one, healthCheck: { timeoutMs: 0 } }, "timeoutMs must be a number above 0"],
      [{ ...upstreams.one, circuitBreaker: { failures: -1 } }, "failures must be a number above 0"],
      [
        { ...upstreams.one, circuitBreaker: { coolDownMs: "1" } },
        "coolDownMs must be a number above",
      ],
      [
        { ...upstreams.one, forwardHeaders: "x-a" },
        "forwardHeaders must be an array of header names",
      ],
      [{ ...upstreams.one, forwardHeaders: ["x a"] }, '"x a" is not a header name'],
      [{ ...upstreams.one, forwardHeaders: ["Expect"] }, '"Expect" cannot be forwarded'],
    ] as const) {
      await expect(start({ upstreams: { odd: upstream as never }, routes: [] })).rejects.toThrow(
        sentence,
      );
    }
  });

  test("of a refused config leave nothing open", async () => {
    const behind = await Behind.start(named("one"));
    const link = behind.link();
    const close = vi.spyOn(link, "close");
    const good = { targets: { one: () => link } };
    const bad = { targets: {} };
    await expect(start({ upstreams: { good, bad }, routes: [] })).rejects.toThrow("has no targets");
    expect(close).toHaveBeenCalledOnce();
  });

  test("a batch is split, and joined again; an entry that fails fails alone", async () => {
    const gateway = await start({
      upstreams: await twoServers(),
      routes: [
        { method: "a/*", to: "one", rename: "*" },
        { method: "b/*", to: "two", rename: "*" },
      ],
    });
    const call = (method: string, id?: unknown) => ({ jsonrpc: "2.0", method, id });
    const text = await gateway.receive(
      JSON.stringify([call("a/who", "x"), call("b/who", "x"), call("c", 3), call("a/who")]),
    );
    expect(JSON.parse(text as string)).toEqual([
      { jsonrpc: "2.0", result: "one", id: "x" },
      { jsonrpc: "2.0", result: "two", id: "x" },
      { jsonrpc: "2.0", error: { code: -32601, message: "Method not found" }, id: 3 },
    ]);
  });

  test("errors of a method arrive as they were thrown", async () => {
    const behind = await Behind.start({
      fail: method({}, () => {
        throw new RpcError(1001, "Refused", { reason: "because" });
      }),
    });
    const gateway = await start({
      upstreams: { one: { targets: { one: () => behind.link() } } },
      routes: [{ method: "*", to: "one" }],
    });
    await expect(clientOf(gateway).call("fail")).rejects.toMatchObject({
      code: 1001,
      message: "Refused",
      data: { reason: "because" },
    });
  });

  test("a route has a limit of calls in progress, and a timeout", async () => {
    const behind = await Behind.start({
      hang: method(
        {},
        (_, call) =>
          new Promise((_, reject) => {
            call.signal.addEventListener("abort", () => reject(call.signal.reason));
          }),
      ),
      who: () => "here",
    });
    const gateway = await start({
      upstreams: { one: { targets: { one: () => behind.link() } } },
      routes: [
        { method: "hang", to: "one", maxInFlight: 1, timeoutMs: 50 },
        { method: "who", to: "one" },
      ],
    });
    const client = clientOf(gateway);
    const first = client.call("hang");
    await expect(client.call("hang")).rejects.toMatchObject({ code: -32005 });
    await expect(first).rejects.toMatchObject({ code: -32003 });
    expect(await client.call("who")).toBe("here");
  });
});

test("a call that timed out is answered like any other over HTTP, whichever side set the time", async () => {
  const behind = await Behind.start({ hang: () => new Promise(() => {}) });
  const gateway = await start(
    {
      upstreams: { one: { targets: { one: () => behind.link() } } },
      routes: [
        { method: "*", to: "one" },
        { method: "short", to: "one", rename: "hang", timeoutMs: 20 },
      ],
    },
    { timeoutMs: 60 },
  );
  const { url } = await serveHttp(gateway, { port: 0 });
  const post = (method: string, headers = {}) =>
    fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", method, id: 1 }),
    });
  const replies = [post("short"), post("hang"), post("hang", { "timeout-ms": "20" })];
  for (const reply of await Promise.all(replies)) {
    expect(reply.status).toBe(200);
    expect(await reply.json()).toMatchObject({ error: { code: -32003 } });
  }
});

test("a 1.0 upstream does not get params by name, and the caller gets an error that says why", async () => {
  const heard: unknown[] = [];
  const add = (a: number, b: number) => {
    heard.push([a, b]);
    return a + b;
  };
  const behind = await Behind.start({ add }, { versions: ["1.0"] });
  const gateway = await start({
    upstreams: { old: { targets: { old: () => behind.link() }, version: "1.0" } },
    routes: [{ method: "*", to: "old" }],
  });
  const client = clientOf(gateway);
  await client.notify("add", { a: 1, b: 1 });
  await expect(client.call("add", { a: 1, b: 2 })).rejects.toMatchObject({
    code: -32602,
    data: { details: expect.stringContaining("JSON-RPC 1.0, which takes params by position only") },
  });
  expect(await client.call("add", [1, 2])).toBe(3);
  expect(heard).toEqual([[1, 2]]);
});

test("callers that cannot be called back share a connection, even if others have their own", async () => {
  const heard: unknown[] = [];
  const behind = await Behind.start({
    who: () => new Promise((resolve) => setImmediate(resolve, "here")),
    note: (value: unknown) => void heard.push(value),
  });
  let opened = 0;
  const one = () => {
    opened++;
    return behind.link();
  };
  const gateway = await start({
    upstreams: { one: { per: "connection", targets: { one } } },
    routes: [{ method: "*", to: "one" }],
  });
  const transport = { kind: "cloudevents", headers: {}, remoteAddress: undefined };
  const ask = (text: string) => gateway.receive(text, new Origin(transport));
  for (let id = 0; id < 3; id++) {
    expect(await ask(`{"jsonrpc":"2.0","method":"who","id":${id}}`)).toContain('"result":"here"');
    await ask(`{"jsonrpc":"2.0","method":"note","params":[${id}]}`);
  }
  await expect.poll(() => heard).toEqual([0, 1, 2]);
  expect(opened).toBe(1);
});

test("servers behind a gateway do not treat it as a local caller", async () => {
  const server = createServer({
    wipe: method({ access: { local: true } }, () => "wiped"),
  });
  const { url } = await serveHttp(server, { port: 0 });
  onTestFinished(() => server.close());
  const gateway = await start({
    upstreams: { one: { targets: { one: () => httpLink(url) } } },
    routes: [{ method: "*", to: "one" }],
  });
  expect(await createClient(httpLink(url)).call("wipe")).toBe("wiped");
  await expect(clientOf(gateway).call("wipe")).rejects.toMatchObject({ code: -32601 });
});

describe("callers with the same ids", () => {
  test("each of 200 gets its own answers, items and progress", async () => {
    const server = createServer({
      secret: method({ params: z.object({ of: z.number() }) }, async ({ of }) => {
        await new Promise((resolve) => setImmediate(resolve));
        return `secret of ${of}`;
      }),
      count: stream(
        { params: z.object({ from: z.number(), workDoneToken: z.string() }) },
        async function* ({ from }, call) {
          for (let i = 0; i < 3; i++) {
            call.progress(from + i);
            yield from + i;
          }
        },
      ),
    });
    const behind = await serveSocket(server, { port: 0 });
    const gateway = await start({
      upstreams: { one: { targets: { one: () => tcpLink({ port: behind.port as number }) } } },
      routes: [{ method: "*", to: "one" }],
    });
    const front = await serveSocket(gateway, { port: 0 });
    onTestFinished(() => server.close());
    await Promise.all(
      Array.from({ length: 200 }, async (_, caller) => {
        const { connectSocket } = await import("callwire/tcp");
        const connection = await connectSocket({ port: front.port as number });
        const client = createClient(connection);
        const seen: unknown[] = [];
        const items: unknown[] = [];
        // The same id from every caller, written by hand.
        const outgoing = {
          cancel: undefined,
          item: () => undefined,
          progress() {},
          gap() {},
          headers: undefined,
          idempotent: false,
        };
        const reply = connection.send(
          { jsonrpc: "2.0", method: "secret", params: { of: caller }, id: "same" },
          outgoing,
        );
        const options = { onProgress: (value: unknown) => void seen.push(value) };
        const params = { from: caller * 10, workDoneToken: "token" };
        for await (const item of client.stream("count", params, options)) items.push(item);
        expect((await reply)?.result).toBe(`secret of ${caller}`);
        expect(items).toEqual([caller * 10, caller * 10 + 1, caller * 10 + 2]);
        expect(seen).toEqual(items);
        await client.close();
      }),
    );
  });
});
