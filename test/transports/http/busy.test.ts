import { createClient, createServer, silentLog } from "callwire";
import { fetchHandler, httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { expect, onTestFinished, test } from "vitest";
import { send } from "./wire.ts";

const body = '{"jsonrpc":"2.0","method":"work","id":1}';
const refused = {
  jsonrpc: "2.0",
  error: {
    code: -32005,
    message: "Server busy",
    data: { ran: false, reason: "busy", retryAfterMs: 1000 },
  },
  id: null,
};

/** A server without room for calls, like one that is overloaded. */
function fullServer() {
  let ran = 0;
  const server = createServer({ work: () => ++ran }, { log: silentLog });
  onTestFinished(() => server.close({ drainMs: 0 }));
  const { overload } = server.answerer.settings;
  if (overload === undefined) throw new Error("there is no overload");
  overload.refuses = () => true;
  return { server, ran: () => ran };
}

test("an overloaded server refuses a request before its body is read, and keeps the connection", async () => {
  const { server, ran } = fullServer();
  const { port } = await serveHttp(server, { port: 0 });
  // The rest of the body never arrives.
  const headers = {
    "content-type": "application/json",
    "content-length": "1000",
    connection: "keep-alive",
  };
  const reply = await send(port, { headers, body });
  expect(reply.status).toBe(503);
  expect(reply.headers["retry-after"]).toBe("1");
  expect(reply.headers["connection"]).not.toBe("close");
  expect(JSON.parse(reply.text)).toEqual(refused);
  expect(ran()).toBe(0);
});

test("so does one behind fetch", async () => {
  const { server, ran } = fullServer();
  const headers = { "content-type": "application/json" };
  const request = new Request("http://localhost/rpc", { method: "POST", headers, body });
  const response = await fetchHandler(server)(request);
  expect([response.status, await response.json()]).toEqual([503, refused]);
  expect(ran()).toBe(0);
});

test("its callers learn that their calls did not run", async () => {
  const { server } = fullServer();
  const { url } = await serveHttp(server, { port: 0 });
  await using client = createClient(httpLink(url));
  await expect(client.call("work")).rejects.toMatchObject({ code: -32005, data: { ran: false } });
});
