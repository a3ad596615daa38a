import { once } from "node:events";
import { connect } from "node:net";
import { createClient } from "callwire";
import { webSocketLink } from "callwire/ws";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { deferred } from "../transports/contract/wire.ts";
import { serve } from "../transports/http/wire.ts";

// A paused socket still emitted all messages that it had read, and the replies to all of them
// waited in memory.

const calls = 400;
const length = 256 * 1024;

/**
 * A server of long replies, and a WebSocket that does not read, and sends its messages in one
 * write.
 */
async function unread() {
  const begun = deferred();
  const told = deferred();
  const ran: unknown[] = [];
  const methods = {
    long: (id: number) => {
      begun.resolve();
      ran.push(id);
      return "x".repeat(length);
    },
    tell: () => told.resolve(),
    ran: () => ran.length,
  };
  const { port, url } = await serve(methods);
  const socket = connect(port, "127.0.0.1");
  const ws = new WebSocket(url.replace("http", "ws"), { createConnection: () => socket });
  await once(ws, "open");
  ws.pause();
  const sendAll = (...more: string[]) => {
    const texts = Array.from(
      { length: calls },
      (_, id) => `{"jsonrpc":"2.0","method":"long","params":[${id}],"id":${id}}`,
    );
    socket.cork();
    for (const text of [...texts, ...more]) ws.send(text);
  };
  return { url, ws, socket, sendAll, begun, told, ran };
}

test("of calls that arrive together, no more run than there is room for replies", async () => {
  const { url, ws, socket, sendAll, begun, ran } = await unread();
  sendAll();
  socket.uncork();
  await begun.promise;
  await using other = createClient(webSocketLink(url));
  expect(await other.call("ran")).toBeLessThan(calls / 2);
  const ids: number[] = [];
  const all = deferred();
  ws.on("message", (data) => {
    const { id, result } = JSON.parse(`${data}`);
    if (result.length === length) ids.push(id);
    if (ids.length === calls) all.resolve();
  });
  ws.resume();
  await all.promise;
  expect(ids).toEqual(ran);
  expect(ids).toEqual([...ids.keys()]);
  ws.terminate();
});

test("messages that arrived with them are handled, even if the peer then closes", async () => {
  const { ws, socket, sendAll, begun, told, ran } = await unread();
  sendAll('{"jsonrpc":"2.0","method":"tell"}');
  ws.close();
  socket.uncork();
  await begun.promise;
  await told.promise;
  expect(ran).toHaveLength(calls);
  ws.terminate();
});
