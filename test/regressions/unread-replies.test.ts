/** Unread replies count in bytes, and wait where they can be dropped at once. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createServer, method, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveSocket } from "callwire/tcp";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { deferred } from "../transports/contract/wire.ts";
import { socketBytes } from "../transports/socket-bytes.ts";

test("a reply counts by its bytes, of which a character may have three", async () => {
  const characters = 200_000;
  const closed = deferred<unknown>();
  const long = method({}, (_, call) => {
    void call.peer.closed.then(() => closed.resolve("closed"));
    return "€".repeat(characters);
  });
  const server = createServer({ long }, { maxWireBytes: 1.5 * characters, log: silentLog });
  const served = await serveSocket(server, { port: 0 });
  onTestFinished(() => served.close());
  const socket = connect(served.port as number, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write('{"jsonrpc":"2.0","method":"long","id":1}\n');
  expect(await closed.promise).toBe("closed");
});

test("a socket gets no more replies than its peer seems to read", async () => {
  const mebibyte = 1024 * 1024;
  const length = 9 * mebibyte;
  const calls = Math.ceil(socketBytes / length) + 3;
  const gate = deferred();
  let [begun, replies] = [0, 0];
  const all = deferred();
  const long = async (): Promise<string> => {
    if (++begun === calls) gate.resolve();
    await gate.promise;
    if (++replies === calls) all.resolve();
    return "x".repeat(length);
  };
  const server = createServer({ long }, { maxWireBytes: 2 * calls * length, log: silentLog });
  const http = await serveHttp(server, { port: 0, drainMs: 0 });
  onTestFinished(() => http.close());
  const accepted = new Promise<Socket>((resolve) => {
    const found = (message: unknown): void => {
      unsubscribe("net.server.socket", found);
      resolve((message as { socket: Socket }).socket);
    };
    subscribe("net.server.socket", found);
  });
  const ws = new WebSocket(`ws://127.0.0.1:${http.port}/rpc/ws`);
  onTestFinished(() => ws.terminate());
  await once(ws, "open");
  ws.pause();
  for (let id = 0; id < calls; id++) ws.send(`{"jsonrpc":"2.0","method":"long","id":${id}}`);
  await all.promise;
  await new Promise((resolve) => setImmediate(resolve));
  // One reply, and a quarter of `maxBufferedBytes`.
  expect((await accepted).writableLength).toBeLessThan(length + 2 * mebibyte);
});
