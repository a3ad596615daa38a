/** Requests that were sent before earlier ones on the connection were answered. */
import { once } from "node:events";
import { createServer as createNodeServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer, method, type Server, silentLog } from "callwire";
import { type NodeHandler, nodeHandler, serveHttp } from "callwire/http/node";
import { type McpServer, mcpHandler, mcpMounts, mcpServer } from "callwire/mcp";
import { expect, onTestFinished, test } from "vitest";
import { envelope } from "../../mcp/server/asking.ts";
import { deferred } from "../contract/wire.ts";
import { endlessStream, post, RawClient, send } from "./wire.ts";

const events = "Accept: text/event-stream\r\n";
const both = "Accept: application/json, text/event-stream\r\n";

async function listen(handler: NodeHandler): Promise<number> {
  const server = createNodeServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function request(name: string, id = 1): string {
  return `{"jsonrpc":"2.0","method":"${name}","params":[${id}],"id":${id}}`;
}

/** A call that lasts until its caller leaves, and a list of the other calls that have started. */
function holding() {
  const held = deferred();
  const left = deferred();
  const begun: unknown[] = [];
  const hold = method({}, (_, { signal }) => {
    held.resolve();
    signal.addEventListener("abort", () => left.resolve());
    return left.promise;
  });
  const begin = (id: unknown): number => begun.push(id);
  return { methods: { hold, begin, ...endlessStream().methods }, held, left, begun };
}

test("requests of one connection run one after the other, and are answered in their order", async () => {
  const order: string[] = [];
  const work = async (id: number): Promise<number> => {
    order.push(`begins ${id}`);
    await new Promise((resolve) => setImmediate(resolve));
    order.push(`ends ${id}`);
    return id;
  };
  const http = await serveHttp(createServer({ work }), { port: 0 });
  onTestFinished(() => http.close());
  const client = new RawClient(http.port);
  client.write([1, 2, 3].map((id) => post(request("work", id))).join(""));
  const text = await client.until((came) => came.includes('"id":3'));
  expect(text.match(/"id":\d/g)).toEqual(['"id":1', '"id":2', '"id":3']);
  expect(order).toEqual(["begins 1", "ends 1", "begins 2", "ends 2", "begins 3", "ends 3"]);
});

test.each([
  ["serveHttp", async (server: Server) => (await serveHttp(server, { port: 0 })).port],
  ["nodeHandler", async (server: Server) => listen(nodeHandler(server))],
])("what waits behind a call never begins when its connection is gone: %s", async (_, serve) => {
  const { methods, held, left, begun } = holding();
  const server = createServer(methods, { log: silentLog });
  onTestFinished(() => server.close());
  const port = await serve(server);
  const client = new RawClient(port);
  const behind = [post(request("begin")), post(request("endless"), events)];
  client.write(post(request("hold")) + behind.join("").repeat(3));
  await held.promise;
  // All that could have started has done so by then.
  expect((await send(port, { body: request("begin", 7) })).status).toBe(200);
  expect(begun).toEqual([7]);
  expect(server.running.size).toBe(1);
  client.socket.destroy();
  await left.promise;
  await server.running.idle();
  expect(begun).toEqual([7]);
});

test.each([
  [
    "mcpMounts",
    async (agents: McpServer) => {
      const http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(agents) });
      onTestFinished(() => http.close());
      return http.port;
    },
  ],
  ["mcpHandler", async (agents: McpServer) => listen(mcpHandler(agents))],
])("the same holds for agents: %s", async (_, serve) => {
  const { methods, held, left, begun } = holding();
  const agents = mcpServer(methods, { name: "a", version: "1", log: silentLog });
  onTestFinished(() => agents.close());
  const port = await serve(agents);
  const client = new RawClient(port);
  const tool = (name: string, id?: string): string => {
    const params = { name, arguments: { id }, _meta: envelope() };
    const headers = `MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: ${name}\r\n`;
    const body = JSON.stringify({ jsonrpc: "2.0", method: "tools/call", params, id: 1 });
    return post(body, headers + both).replace("/rpc", "/mcp");
  };
  client.write(tool("hold") + tool("begin", "behind"));
  await held.promise;
  const other = new RawClient(port);
  other.write(tool("begin", "other"));
  await other.until((text) => text.includes("jsonrpc"));
  client.socket.destroy();
  await left.promise;
  expect(begun).toEqual(["other"]);
});

test("a connection on which too much waits is closed", async () => {
  const { methods, held, left } = holding();
  const server = createServer(methods, { log: silentLog });
  onTestFinished(() => server.close());
  // Not because of a timeout.
  const { port } = await serveHttp(server, { port: 0, requestTimeoutMs: 600_000 });
  const client = new RawClient(port);
  client.write(post(request("hold")));
  await held.promise;
  client.write(post(request("begin")).repeat(1_001));
  expect(await client.all()).toBe("");
  await left.promise;
});

test("a long body that waits its turn does not hide that the client is gone", async () => {
  const { methods, held, left } = holding();
  const http = await serveHttp(createServer(methods, { log: silentLog }), { port: 0 });
  onTestFinished(() => http.close());
  const client = new RawClient(http.port);
  client.write(post(request("hold")));
  await held.promise;
  const long = JSON.stringify({
    jsonrpc: "2.0",
    method: "begin",
    params: ["x".repeat(300_000)],
    id: 2,
  });
  client.write(post(long));
  // All of it has been sent, and then the client has left.
  client.socket.end();
  await left.promise;
});

test("a reply is whole though a long request waits behind it as the server closes", async () => {
  const begun = deferred();
  const release = deferred();
  const slow = async (): Promise<string> => {
    begun.resolve();
    await release.promise;
    return "y".repeat(200_000);
  };
  const server = createServer({ slow, echo: (text: string) => text.length }, { log: silentLog });
  const http = await serveHttp(server, { port: 0 });
  const client = new RawClient(http.port);
  client.write(post(request("slow")));
  await begun.promise;
  const params = ["x".repeat(800_000)];
  const second = once(http.server, "request");
  client.write(post(JSON.stringify({ jsonrpc: "2.0", method: "echo", params, id: 2 })));
  const [waiting] = (await second) as [IncomingMessage];
  // It is read although it does not run.
  if (!waiting.readableEnded) await once(waiting, "end");
  const closing = http.close();
  release.resolve();
  const whole = await client.until((came) => came.includes('y","id":1')).catch(() => "");
  expect(whole.includes("y".repeat(200_000))).toBe(true);
  await closing;
});
