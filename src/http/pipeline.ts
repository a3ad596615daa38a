import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Buffering, WireBuffers } from "../protocol/memory-bounds.ts";

const queues = new WeakMap<Socket, PipelineQueue>();

/** A client that pipelines more requests than this, in number or in characters, is disconnected. */
const maxWaiting = 1_000;
const maxWaitingLength = 16 * 1024 * 1024;

/** The requests of one connection that were read and wait for the reply to an earlier one. */
class PipelineQueue implements Buffering {
  #count = 0;
  bufferedBytes = 0;
  readonly #socket: Socket;

  constructor(socket: Socket, buffers: WireBuffers) {
    this.#socket = socket;
    buffers.opened(this);
    socket.once("close", () => buffers.closed(this));
  }

  add(length: number): boolean {
    if (this.#count >= maxWaiting || this.bufferedBytes + length > maxWaitingLength) return false;
    this.#count++;
    this.bufferedBytes += length;
    return true;
  }

  remove(length: number): void {
    this.#count--;
    this.bufferedBytes -= length;
  }

  shed(): void {
    this.#socket.destroy();
  }
}

/**
 * Runs what answers a request after the earlier requests of its connection were answered. Node emits pipelined requests
 * immediately, so one connection could start unlimited calls, and Node would not report a disconnect for the queued
 * ones. The body, `length` characters long, is read before: until it is, Node reads nothing else from the connection.
 */
export function inTurn(
  request: IncomingMessage,
  response: ServerResponse,
  buffers: WireBuffers,
  run: () => void,
  length = 0,
): void {
  const { socket } = request;
  // A response has its socket from its turn until its end; an imitation of Node's response may never have one.
  if (response.socket !== null || response.headersSent || !(socket instanceof Socket)) {
    run();
    return;
  }
  const queue = queues.get(socket) ?? new PipelineQueue(socket, buffers);
  queues.set(socket, queue);
  if (!queue.add(length)) {
    socket.destroy();
    return;
  }
  response.once("socket", () => {
    queue.remove(length);
    // Node has not finished assigning the socket.
    queueMicrotask(run);
  });
  buffers.moved(length);
}
