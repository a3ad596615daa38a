import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Buffering, WireBuffers } from "../protocol/memory-bounds.ts";

const queues = new WeakMap<Socket, PipelineQueue>();

/** A client that pipelines more requests than this, in number or in characters, is disconnected. */
const maxWaiting = 1_000;
const maxWaitingLength = 16 * 1024 * 1024;
/** What Node keeps of a request besides its body: both messages, their headers and listeners. */
const bytesOfRequest = 8 * 1024;

/** A request that waits. */
interface Waiting {
  /** Its length in characters. */
  readonly length: number;
  run: (() => void) | undefined;
}

/** The requests of one connection that were read and wait for the reply to an earlier one. */
class PipelineQueue implements Buffering {
  readonly #socket: Socket;
  readonly #waiting = new Set<Waiting>();
  #length = 0;
  #isShed = false;

  constructor(socket: Socket, buffers: WireBuffers) {
    this.#socket = socket;
    buffers.opened(this);
    socket.once("close", () => buffers.closed(this));
  }

  get bufferedBytes(): number {
    return this.#length + this.#waiting.size * bytesOfRequest;
  }

  /** False if it may not wait. */
  add(waiting: Waiting): boolean {
    if (this.#isShed || this.#waiting.size >= maxWaiting) return false;
    if (this.#length + waiting.length > maxWaitingLength) return false;
    this.#waiting.add(waiting);
    this.#length += waiting.length;
    return true;
  }

  remove(waiting: Waiting): void {
    if (this.#waiting.delete(waiting)) this.#length -= waiting.length;
  }

  shed(): void {
    this.#isShed = true;
    // Their bodies are released now, but Node keeps the requests until the end of the turn, which may read many others.
    for (const waiting of this.#waiting) waiting.run = undefined;
    this.#length = 0;
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
  const waiting: Waiting = { length, run };
  if (!buffers.hasRoom || !queue.add(waiting)) {
    socket.destroy();
    return;
  }
  response.once("socket", () => {
    queue.remove(waiting);
    // Node has not finished assigning the socket.
    queueMicrotask(() => waiting.run?.());
  });
  buffers.moved(length + bytesOfRequest);
}
