import { createServer as createNodeServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, createServer, silentLog, stream } from "callwire";
import { fetchHandler, httpLink } from "callwire/http";
import { nodeHandler } from "callwire/http/node";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { describe, expect, onTestFinished, test } from "vitest";
import { add, json, send, sum } from "./wire.ts";

const server = createServer(
  {
    add: (a: number, b: number) => a + b,
    later: async (value: unknown) => value,
    count: stream({}, async function* (params) {
      for (let i = 0; i < (params as number[])[0]!; i++) yield i;
    }),
  },
  { log: silentLog },
);

async function listen(listener: RequestListener): Promise<number> {
  const http = createNodeServer(listener);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return (http.address() as AddressInfo).port;
}

/** The requirements for every way of mounting. */
async function expectService(port: number): Promise<void> {
  const client = createClient<typeof server.api>(httpLink(`http://127.0.0.1:${port}/rpc`));
  expect(await client.call("add", [2, 3])).toBe(5);
  expect(await client.call("later", ["é"])).toBe("é");
  expect(await client.batch((b) => [b.add(1, 2), b.later(4)])).toEqual([3, 4]);
  const items: unknown[] = [];
  for await (const item of client.stream("count", [3])) items.push(item);
  expect(items).toEqual([0, 1, 2]);
  await client.close();
  expect((await send(port, { body: '{"jsonrpc":"2.0","method":"add"}' })).status).toBe(204);
  expect((await send(port, { method: "GET", headers: {} })).status).toBe(405);
}

describe("Node", () => {
  test("a server of node:http", async () => {
    await expectService(await listen(nodeHandler(server)));
  });

  test("Express", async () => {
    const app = express();
    app.use("/rpc", nodeHandler(server));
    const port = await listen(app);
    await expectService(port);
    const plain = await send(port, {
      method: "GET",
      path: "/rpc/stream?method=count&params=[2]",
      headers: {},
    });
    expect(plain.text).toMatch(/data: \[DONE\]\n\n$/);
  });

  test.each([
    ["as JSON", express.json()],
    ["as text", express.text({ type: "*/*" })],
    ["as bytes", express.raw({ type: "*/*" })],
    ["not at all, since it is of another type", express.json({ type: "application/other" })],
    ["as a form, which it is not", express.urlencoded()],
  ])("Express, where the body was read before, %s", async (_, parser) => {
    const app = express();
    app.use(parser);
    app.use("/rpc", nodeHandler(server));
    await expectService(await listen(app));
  });

  test("Express, where other code read the body and kept it", async () => {
    const app = express();
    app.use((request, _, next) => {
      request.resume();
      request.on("end", next);
    });
    app.post("/rpc", nodeHandler(server));
    const answer = await send(await listen(app), { body: add });
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32603 }, id: null });
  });

  test("Express, where other code answered before the call did", async () => {
    const app = express();
    app.use((_request, response, next) => {
      response.status(503).end("too late");
      next();
    });
    app.use("/rpc", nodeHandler(server));
    const port = await listen(app);
    for (const accept of ["application/json", "text/event-stream"]) {
      const answer = await send(port, { headers: { ...json, accept }, body: add });
      expect(answer).toMatchObject({ status: 503, text: "too late" });
    }
  });

  test.each([
    ["add", "application/json"],
    ["later", "application/json"],
    ["add", "text/event-stream"],
    ["count", "application/json, text/event-stream"],
  ])("Express, where other code answers %s (%s) while it runs", async (name, accept) => {
    const app = express();
    app.use((request, response, next) => {
      // The body has arrived, and its call is answered before a test can react.
      next();
      request.prependListener("end", () => response.status(503).end("too late"));
    });
    app.use("/rpc", nodeHandler(server));
    const port = await listen(app);
    const body = `{"jsonrpc":"2.0","method":"${name}","params":[1000],"id":1}`;
    const answer = await send(port, { headers: { ...json, accept }, body });
    expect(answer).toMatchObject({ status: 503, text: "too late" });
    await expect.poll(() => server.running.size).toBe(0);
  });

  test("Express, with an unread body", async () => {
    const app = express();
    app.use((request, _, next) => {
      request.body = {};
      next();
    });
    app.post("/rpc", nodeHandler(server));
    expect((await send(await listen(app), { body: add })).text).toBe(sum);
  });

  test("Fastify, without its body parsers", async () => {
    const app = fastify();
    const handler = nodeHandler(server);
    app.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
      scope.all("/rpc", (request, reply) => {
        reply.hijack();
        handler(request.raw, reply.raw);
      });
    });
    await app.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => app.close());
    await expectService((app.server.address() as AddressInfo).port);
  });

  test("Fastify, with the body that it parsed", async () => {
    const app = fastify();
    const handler = nodeHandler(server);
    app.all("/rpc", (request, reply) => {
      reply.hijack();
      handler(Object.assign(request.raw, { body: request.body }), reply.raw);
    });
    await app.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => app.close());
    await expectService((app.server.address() as AddressInfo).port);
  });

  test("behind a proxy, the name that it uses must be listed", async () => {
    const port = await listen(nodeHandler(server, { hosts: ["api.example"] }));
    const headers = { ...json, host: "api.example" };
    expect((await send(port, { headers, body: add })).text).toBe(sum);
    expect((await send(port, { body: add })).status).toBe(403);
  });
});

describe("fetch", () => {
  test("Hono", async () => {
    const app = new Hono();
    const handler = fetchHandler(server);
    app.all("/rpc", (c) => handler(c.req.raw));
    const answer = await app.request("/rpc", { method: "POST", headers: json, body: add });
    expect(await answer.text()).toBe(sum);
    expect((await app.request("/rpc")).status).toBe(405);
  });

  test("a client whose fetch is the handler", async () => {
    const handler = fetchHandler(server);
    const client = createClient(
      httpLink("http://localhost/rpc", { fetch: (url, init) => handler(new Request(url, init)) }),
    );
    expect(await client.call("later", [7])).toBe(7);
    const items: unknown[] = [];
    for await (const item of client.stream("count", [300])) items.push(item);
    expect(items).toHaveLength(300);
  });
});
