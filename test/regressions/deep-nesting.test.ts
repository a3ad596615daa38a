/** Texts that nest deeper than the stack: they can be read, but not written again. */

import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer, method, silentLog, stream } from "callwire";
import { fetchHandler } from "callwire/http";
import { nodeHandler, serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer } from "callwire/mcp";
import { serveSocket } from "callwire/tcp";
import express from "express";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { HttpClient } from "../mcp/server/asking.ts";
import { json, send } from "../transports/http/wire.ts";
import { RawSocket } from "../transports/tcp/raw-socket.ts";

function nested(levels: number): string {
  return `${"[".repeat(levels)}${"]".repeat(levels)}`;
}

const deep = nested(200_000);
const methods = {
  echo: (value: unknown) => value,
  collect: method({ upload: z.any() }, async (_, call) => {
    for await (const _item of call.upload);
  }),
  count: stream({}, function* () {
    yield 1;
  }),
};

function server() {
  const made = createServer(methods, { log: silentLog });
  onTestFinished(() => made.close());
  return made;
}

test("a batch of a reply, a deep message and a call with a long id", async () => {
  const { port } = await serveSocket(server(), { port: 0 });
  const client = new RawSocket({ port: port as number });
  const reply = '{"jsonrpc":"2.0","result":1,"id":"nobody\'s"}';
  const cancel = '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"] , ["}}';
  const call = '{"jsonrpc":"2.0","method":"echo","params":["hi"],"id":12345678901234567890}';
  client.send(`[ ${reply} , ${deep},${cancel} ,{"deep":${deep}}, ${call}]\n`);
  const [line = ""] = await client.lines(1);
  expect(JSON.parse(line)).toMatchObject([
    { error: { code: -32600, data: "a request must be a JSON object" }, id: null },
    { error: { code: -32600 }, id: null },
    { result: "hi" },
  ]);
  expect(line).toContain('"id":12345678901234567890');
});

test("an item of an upload", async () => {
  const { port } = await serveSocket(server(), { port: 0 });
  const client = new RawSocket({ port: port as number });
  client.send('{"jsonrpc":"2.0","method":"collect","id":1,"upload":true}\n');
  await client.lines(1);
  const item = `{"jsonrpc":"2.0","method":"$/upload","params":{"id":1,"value":${nested(63)}}}\n`;
  client.send(item);
  const [, line = ""] = await client.lines(2);
  const data = "an item of the upload is nested deeper than 64 levels";
  expect(JSON.parse(line)).toMatchObject({ id: 1, error: { code: -32600, data } });
});

test("the same from an agent", async () => {
  const agents = mcpServer(methods, { name: "a", version: "1", log: silentLog });
  onTestFinished(() => agents.close());
  const http = await serveHttp(server(), { port: 0, mounts: mcpMounts(agents) });
  const client = new HttpClient(http.url.replace("/rpc", "/mcp"), "2025-03-26");
  await client.initialize();
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } };
  const ping = { jsonrpc: "2.0", method: "ping", id: 1 };
  const text = `[${JSON.stringify(cancel)},${deep},${JSON.stringify(ping)}]`;
  const response = await fetch(client.url, {
    method: "POST",
    headers: client.headers(),
    body: text,
  });
  expect(await response.json()).toMatchObject([{ error: { code: -32600 } }, { result: {}, id: 1 }]);
});

test("params in the query of a URL", async () => {
  // The longest URL that Node accepts.
  const path = `/rpc/stream?method=count&params=${nested(7_000)}`;
  const { port } = await serveHttp(server(), { port: 0 });
  const answer = await send(port, { method: "GET", path, headers: {} });
  // Which of the two sentences comes depends on how deep the runtime can write.
  expect(answer.text).toContain("nested");
  const handle = fetchHandler(server());
  const url = `http://localhost/rpc/stream?method=count&params=${deep}`;
  expect(await (await handle(new Request(url))).text()).toContain("nested");
});

test("a body that other code parsed before", async () => {
  const app = express().use(express.json({ limit: "1mb" }), nodeHandler(server()));
  const http = createHttpServer(app).listen(0, "127.0.0.1");
  onTestFinished(() => void http.close());
  await new Promise((resolve) => http.once("listening", resolve));
  const { port } = http.address() as AddressInfo;
  const answer = await send(port, { headers: json, body: deep });
  expect(answer).toMatchObject({ status: 200, text: expect.stringContaining("-32700") });
});
