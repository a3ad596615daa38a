import { createServer } from "callwire";
import { fetchHandler } from "callwire/http";
import { nodeHandler } from "callwire/http/node";
import fastify from "fastify";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { RecordingLog } from "../server/asking.ts";
import { add, json, send } from "../transports/http/wire.ts";

const advice =
  "other code read the body of the request before; mount this handler before body parsers";
const message = "other code read the body of a request before this handler";
const methods = { add: (a: number, b: number) => a + b };

// It was answered with a bare parse error, and with 400 by Hono, although the client had done
// nothing wrong.
test("a Fastify route that mounts the handler after Fastify's body parser reports that", async () => {
  const log = new RecordingLog();
  const handle = nodeHandler(createServer(methods, { log }));
  const app = fastify();
  app.post("/rpc", (request, reply) => {
    reply.hijack();
    handle(request.raw, reply.raw);
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => app.close());
  const { port } = app.server.address() as { port: number };
  const { status, text } = await send(port, { body: add });
  expect(status).toBe(500);
  expect(JSON.parse(text).error).toEqual({ code: -32603, message: "Internal error", data: advice });
  expect(log.entries).toMatchObject([{ level: "error", message }]);
});

test("a Hono route behind a middleware that read the body reports that", async () => {
  const log = new RecordingLog();
  const handle = fetchHandler(createServer(methods, { log }));
  const app = new Hono();
  app.use(async (c, next) => {
    await c.req.json();
    await next();
  });
  app.all("/rpc", (c) => handle(c.req.raw));
  const response = await app.request("http://localhost/rpc", {
    method: "POST",
    headers: json,
    body: add,
  });
  expect(response.status).toBe(500);
  expect((await response.json()).error.data).toBe(advice);
  expect(log.entries).toMatchObject([{ level: "error", message }]);
});

test("a request without a body is still a parse error", async () => {
  const app = fastify();
  const handle = nodeHandler(createServer(methods));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  app.post("/rpc", (request, reply) => {
    reply.hijack();
    handle(request.raw, reply.raw);
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => app.close());
  const { port } = app.server.address() as { port: number };
  const { text } = await send(port, { headers: { ...json, "content-length": "0" }, body: "" });
  expect(JSON.parse(text).error.code).toBe(-32700);
});
