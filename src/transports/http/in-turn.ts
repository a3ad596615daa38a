import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** What waits behind another request, by its connection. */
const waiting = new WeakMap<Socket, { count: number; length: number }>();

/** Who sends more without an answer to the first, in number or in characters, is cut off. */
const mostWaiting = 1_000;
const longestWaiting = 16 * 1024 * 1024;

/**
 * Runs what answers a request once those before it on its connection are answered. Node tells of them at once, so that
 * one connection could have any number of calls run, and of those behind nobody would hear when it is gone. The body
 * is read before, and `length` long: while it is not, Node reads nothing else of the connection, not even its end.
 */
export function inTurn(
  request: IncomingMessage,
  response: ServerResponse,
  run: () => void,
  length = 0,
): void {
  const socket = request.socket as Socket & { readonly _httpMessage?: unknown };
  // A response has its socket when it is its turn. What only looks like one of Node's may never have any.
  if (response.socket !== null || !socket?._httpMessage) {
    run();
    return;
  }
  const before = waiting.get(socket) ?? { count: 0, length: 0 };
  if (before.count >= mostWaiting || before.length + length > longestWaiting) {
    socket.destroy();
    return;
  }
  waiting.set(socket, before);
  before.count++;
  before.length += length;
  response.once("socket", () => {
    before.count--;
    before.length -= length;
    // Node is not done with handing it the socket.
    queueMicrotask(run);
  });
}
