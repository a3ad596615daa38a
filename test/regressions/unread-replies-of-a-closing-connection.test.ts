/**
 * Bytes that wait in a closing socket count too; otherwise each connection could leave a long reply
 * behind.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createServer, method, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveSocket } from "callwire/tcp";
import { onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { deferred } from "../transports/contract/wire.ts";
import { socketBytes } from "../transports/socket-bytes.ts";

const mebibyte = 1024 * 1024;
const call = '{"jsonrpc":"2.0","method":"long","id":1}';
/** At least this much of each reply does not fit into the buffers of the system. */
const unsentBytes = 2 * mebibyte;
const replyBytes = socketBytes + unsentBytes;
/** There is room for one reply, and for the rest of an earlier one, but not for the rest of all. */
const maxWireBytes = replyBytes + 1.5 * unsentBytes;
const clients = 3;

/** A server of such replies; `left` resolves when the caller of the next one has left. */
function longReplies() {
  let left = deferred();
  const long = method({}, (_, call) => {
    void call.peer.closed.then(() => left.resolve());
    return "x".repeat(replyBytes);
  });
  const limits = { maxReplyLength: 2 * replyBytes };
  const server = createServer({ long }, { limits, maxWireBytes, log: silentLog });
  const nextLeft = (): Promise<void> => {
    left = deferred();
    return left.promise;
  };
  return { server, nextLeft };
}

/** Closing sockets do not time out, so they close only if they have to make room. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

/** The server's side of the next connection. */
function nextAccepted(): Promise<Socket> {
  return new Promise((resolve) => {
    const accepted = (message: unknown): void => {
      unsubscribe("net.server.socket", accepted);
      resolve((message as { socket: Socket }).socket);
    };
    subscribe("net.server.socket", accepted);
  });
}

test("TCP clients that close their side and do not read are disconnected to make room", async () => {
  const { server, nextLeft } = longReplies();
  const served = await serveSocket(server, { port: 0, drainMs: 0 });
  onTestFinished(() => served.close());
  stopTime();
  const closed: Promise<unknown>[] = [];
  for (let i = 0; i < clients; i++) {
    const accepted = nextAccepted();
    const socket = connect({ port: served.port as number, host: "127.0.0.1", allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    const left = nextLeft();
    socket.end(`${call}\n`);
    closed.push(once(await accepted, "close"));
    await left;
  }
  await Promise.race(closed);
});

test("WebSocket clients that close and do not read are disconnected to make room", async () => {
  const { server, nextLeft } = longReplies();
  const http = await serveHttp(server, { port: 0, drainMs: 0 });
  onTestFinished(() => http.close());
  stopTime();
  const closed: Promise<unknown>[] = [];
  for (let i = 0; i < clients; i++) {
    const accepted = nextAccepted();
    const ws = new WebSocket(`ws://127.0.0.1:${http.port}/rpc/ws`);
    ws.on("error", () => {});
    onTestFinished(() => ws.terminate());
    await once(ws, "open");
    closed.push(once(await accepted, "close"));
    ws.pause();
    const left = nextLeft();
    ws.send(call);
    ws.close();
    await left;
  }
  await Promise.race(closed);
});
