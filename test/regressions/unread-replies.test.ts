/** Unread replies count in bytes, and wait where they can be dropped at once. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { EventEmitter, once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { createServer, method, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveSocket } from "callwire/tcp";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { UncompressedReply } from "../../src/http/unread-reply.ts";
import { WireBuffers } from "../../src/protocol/memory-bounds.ts";
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

test("long replies of one turn over HTTP are bounded together", async () => {
  const mebibyte = 1024 * 1024;
  // More than the system accepts, so the rest stays with the server until the end of the turn.
  const length = socketBytes + 4 * mebibyte;
  const clients = 4;
  const gate = deferred();
  const all = deferred();
  let begun = 0;
  const long = async (): Promise<string> => {
    if (++begun === clients) all.resolve();
    await gate.promise;
    return "x".repeat(length);
  };
  const limits = { maxReplyLength: 2 * length };
  const server = createServer({ long }, { maxWireBytes: mebibyte, limits, log: silentLog });
  const http = await serveHttp(server, { port: 0, drainMs: 0 });
  onTestFinished(() => http.close());
  const accepted: Socket[] = [];
  const found = (message: unknown): void => {
    accepted.push((message as { socket: Socket }).socket);
  };
  subscribe("net.server.socket", found);
  onTestFinished(() => void unsubscribe("net.server.socket", found));
  const body = '{"jsonrpc":"2.0","method":"long","id":1}';
  const head = `POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  for (let i = 0; i < clients; i++) {
    const socket = connect(http.port, "127.0.0.1").pause();
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    socket.write(head + body);
  }
  await all.promise;
  gate.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(accepted.length).toBe(clients);
  expect(accepted.filter((socket) => socket.bytesWritten >= length).length).toBe(1);
});

test("long replies of one turn over sockets are bounded together", async () => {
  const mebibyte = 1024 * 1024;
  // More than the system accepts, so the rest stays with the server until the end of the turn.
  const length = socketBytes + 4 * mebibyte;
  const clients = 8;
  const gate = deferred();
  const all = deferred();
  let begun = 0;
  const long = async (): Promise<string> => {
    if (++begun === clients) all.resolve();
    await gate.promise;
    // In the same turn, but not before earlier replies have been written.
    await new Promise((resolve) => setImmediate(resolve));
    return "x".repeat(length);
  };
  const limits = { maxReplyLength: 2 * length };
  const maxWireBytes = 1.5 * length;
  const server = createServer({ long }, { maxWireBytes, limits, log: silentLog });
  const accepted: Socket[] = [];
  const found = (message: unknown): void => {
    accepted.push((message as { socket: Socket }).socket);
  };
  subscribe("net.server.socket", found);
  onTestFinished(() => void unsubscribe("net.server.socket", found));
  const served = await serveSocket(server, { port: 0 });
  onTestFinished(() => served.close());
  for (let i = 0; i < clients; i++) {
    const socket = connect(served.port as number, "127.0.0.1").pause();
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    socket.write('{"jsonrpc":"2.0","method":"long","id":1}\n');
  }
  await all.promise;
  gate.resolve();
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
  expect(accepted.length).toBe(clients);
  expect(accepted.filter((socket) => socket.bytesWritten >= length).length).toBeLessThan(4);
});

test("a reply that waits to be compressed is released when its client is disconnected", () => {
  const response = Object.assign(new EventEmitter(), { destroy: () => {} });
  const buffers = new WireBuffers(1_000);
  const reply = new UncompressedReply(
    "x".repeat(2_000),
    response as never as ServerResponse,
    buffers,
  );
  expect(reply.bufferedBytes).toBe(0);
  expect(reply.take()).toBeUndefined();
});
