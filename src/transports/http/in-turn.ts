import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** How many requests wait behind another, by their connection. */
const waiting = new WeakMap<Socket, number>();

/** Who sends more without an answer to the first is cut off. */
const mostWaiting = 1_000;

/**
 * Runs what answers a request once those before it on its connection are answered. Node tells of them at once, so that
 * one connection could have any number of calls run, and of those behind nobody would hear when it is gone.
 */
export function inTurn(request: IncomingMessage, response: ServerResponse, run: () => void): void {
  const socket = request.socket as Socket & { readonly _httpMessage?: unknown };
  // A response has its socket when it is its turn. What only looks like one of Node's may never have any.
  if (response.socket !== null || !socket?._httpMessage) {
    run();
    return;
  }
  const before = waiting.get(socket) ?? 0;
  if (before === mostWaiting) {
    socket.destroy();
    return;
  }
  waiting.set(socket, before + 1);
  response.once("socket", () => {
    waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
    // Node is not done with handing it the socket.
    queueMicrotask(run);
  });
}
