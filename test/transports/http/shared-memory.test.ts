/** What the HTTP connections of a server buffer together, which `maxWireBytes` limits. */
import { once } from "node:events";
import { createServer as createNodeServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { createServer, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer } from "callwire/mcp";
import { expect, onTestFinished, test } from "vitest";
import { type CallPace, Endpoint } from "../../../src/transports/http/endpoint.ts";
import { EndpointRules } from "../../../src/transports/http/endpoint-rules.ts";
import { handleNode } from "../../../src/transports/http/node-handler.ts";
import { deferred } from "../contract/wire.ts";
import { post } from "./wire.ts";

const kibibyte = 1024;

async function client(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** The first line of the next response. */
function firstStatus(socket: Socket): Promise<string> {
  return once(socket, "data").then(([chunk]) => String(chunk).split("\r\n", 1)[0] ?? "");
}

const call = `{"jsonrpc":"2.0","method":"size","params":["${"a".repeat(100 * kibibyte)}"],"id":1}`;

test.each(["/rpc", "/mcp"])(
  "bodies that arrive at %s are refused if all take too much memory",
  async (path) => {
    const server = createServer(
      { size: (text: string) => text.length },
      { maxWireBytes: 120 * kibibyte, log: silentLog },
    );
    const mcp = mcpServer(
      {},
      { name: "size", version: "1", maxWireBytes: 120 * kibibyte, log: silentLog },
    );
    const http = await serveHttp(server, { port: 0, mounts: mcpMounts(mcp) });
    onTestFinished(() => http.close());
    const sockets = [await client(http.port), await client(http.port)];
    const request = post(call).replace("/rpc", path);
    const most = 80 * kibibyte;
    const first = Promise.race(
      sockets.map((socket, i) => firstStatus(socket).then((status) => ({ status, i }))),
    );
    for (const socket of sockets) socket.write(request.slice(0, most));
    const { status, i } = await first;
    expect(status).toBe("HTTP/1.1 503 Service Unavailable");
    const other = sockets[1 - i] as Socket;
    const answered = firstStatus(other);
    other.write(request.slice(most));
    expect(await answered).toBe(path === "/rpc" ? "HTTP/1.1 200 OK" : "HTTP/1.1 400 Bad Request");
  },
);

test("calls that wait until a busy server has time are refused if their bodies take too much memory", async () => {
  let ran = 0;
  const size = (text: string): number => {
    ran++;
    return text.length;
  };
  const server = createServer({ size }, { maxWireBytes: 250 * kibibyte, log: silentLog });
  // No call gets its turn.
  const pace: CallPace = { hasArrived: false, run() {} };
  const endpoint = new Endpoint(new EndpointRules(server, {}), pace);
  const http = createNodeServer((request, response) => handleNode(endpoint, request, response));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void http.close());
  const { port } = http.address() as AddressInfo;
  const answers: Promise<string>[] = [];
  for (let i = 0; i < 3; i++) {
    const socket = await client(port);
    answers.push(firstStatus(socket));
    socket.write(post(call));
  }
  // Three of 100 KiB are too many, so one of them is refused before any runs.
  expect(await Promise.race(answers)).toBe("HTTP/1.1 503 Service Unavailable");
  expect(ran).toBe(0);
});

test("connections that pipeline are closed if all take too much memory", async () => {
  const held = deferred();
  onTestFinished(() => held.resolve());
  const server = createServer(
    { hold: () => held.promise, size: (text: string) => text.length },
    { maxWireBytes: 150 * kibibyte, log: silentLog },
  );
  const http = await serveHttp(server, { port: 0, drainMs: 0 });
  onTestFinished(() => http.close());
  const sockets = [await client(http.port), await client(http.port)];
  const closed = Promise.race(sockets.map((socket) => once(socket, "close")));
  const hold = post('{"jsonrpc":"2.0","method":"hold","id":1}');
  for (const socket of sockets) socket.write(hold + post(call));
  await closed;
});

test("clients that do not read their replies are disconnected if all take too much memory", async () => {
  const server = createServer(
    // More than the operating system buffers.
    { long: () => "a".repeat(48 * kibibyte * kibibyte) },
    {
      maxWireBytes: kibibyte * kibibyte,
      limits: { maxReplyLength: 64 * kibibyte * kibibyte },
      log: silentLog,
    },
  );
  const http = await serveHttp(server, { port: 0, writeTimeoutMs: 0 });
  onTestFinished(() => http.close());
  const socket = await client(http.port);
  const [serverSide] = await Promise.all([
    once(http.server, "request").then(([request]) => request.socket as Socket),
    socket.write(post('{"jsonrpc":"2.0","method":"long","id":1}')),
  ]);
  await once(serverSide, "close");
});
