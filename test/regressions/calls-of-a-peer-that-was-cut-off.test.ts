import { once } from "node:events";
import { connect } from "node:net";
import { createServer, silentLog } from "callwire";
import { serveSocket } from "callwire/tcp";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { deferred } from "../transports/contract/wire.ts";
import { serve } from "../transports/http/wire.ts";

// A destroyed socket called back for each write that it dropped, which looked as if the peer had read: all calls that
// were held back for it then ran at once.

const calls = 400;
const length = 256 * 1024;

function longReplies() {
  const begun = deferred();
  let ran = 0;
  const long = () => {
    begun.resolve();
    ran++;
    return "x".repeat(length);
  };
  return { methods: { long }, begun: begun.promise, count: () => ran };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("calls held back for a TCP peer that does not read do not run when it is disconnected", async () => {
  const { methods, begun, count } = longReplies();
  await using server = await serveSocket(createServer(methods, { log: silentLog }), {
    port: 0,
    writeTimeoutMs: 1,
  });
  const peer = connect(server.port as number, "127.0.0.1").on("error", () => {});
  peer.pause();
  peer.write('{"jsonrpc":"2.0","method":"long","id":1}\n'.repeat(calls));
  await begun;
  const [connection] = server.connections;
  await connection?.closed;
  await turn();
  // The kernel accepts some replies before it stops.
  expect(count()).toBeLessThan(calls / 2);
  peer.destroy();
});

test("calls held back for a WebSocket that does not read do not run when it is disconnected", async () => {
  const { methods, begun, count } = longReplies();
  const { port, url } = await serve(methods);
  const socket = connect(port, "127.0.0.1");
  const ws = new WebSocket(url.replace("http", "ws"), { createConnection: () => socket });
  ws.on("error", () => {});
  await once(ws, "open");
  ws.pause();
  socket.cork();
  for (let id = 0; id < calls; id++) ws.send(`{"jsonrpc":"2.0","method":"long","id":${id}}`);
  socket.uncork();
  await begun;
  socket.resetAndDestroy();
  await once(socket, "close");
  // The server notices it in one of its next turns, which all run in this process.
  for (let i = 0; i < 20; i++) await turn();
  expect(count()).toBeLessThan(calls / 2);
});
