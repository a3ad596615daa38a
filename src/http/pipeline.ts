import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Buffering, WireBuffers } from "../protocol/memory-bounds.ts";

const queues = new WeakMap<Socket, PipelineQueue>();

/** A client that pipelines more requests than this, in number or in characters, is disconnected. */
const maxWaiting = 1_000;
const maxWaitingLength = 16 * 1024 * 1024;
/** What Node keeps of a request besides its headers and body: both messages and listeners. */
const bytesOfRequest = 8 * 1024;
/** What a name or value of a header takes besides its characters, with its place in both forms that Node keeps. */
const bytesOfHeaderText = 64;
/** A hundred headers. With fewer, a request that does not wait is not counted: even a thousand take little memory. */
const manyHeaderTexts = 200;

/** What Node keeps of a connection is bound to these listeners of its socket. */
const eventsOfConnection = ["data", "drain", "end", "close"] as const;

const nothing = (): void => {};

/** A request that was read. */
interface HeldRequest {
  /** The length of its body in characters, if it waits. */
  length: number;
  /** What answers it, if it waits. */
  run: (() => void) | undefined;
}

/** The requests of one connection that were read and wait for the reply to an earlier one, or have many headers. */
class PipelineQueue implements Buffering {
  readonly #socket: Socket;
  readonly #requests = new Map<ServerResponse, HeldRequest>();
  /** Characters of bodies that wait. */
  #length = 0;
  #bytes = 0;
  #isShed = false;

  constructor(socket: Socket, buffers: WireBuffers) {
    this.#socket = socket;
    buffers.opened(this);
    socket.once("close", () => {
      buffers.closed(this);
      this.#release();
      // Node does so only for the response that has the socket, and whatever waits for it would be kept.
      for (const response of this.#requests.keys())
        if (response.socket === null) response.emit("close");
    });
  }

  get bufferedBytes(): number {
    return this.#length + this.#bytes;
  }

  has(response: ServerResponse): boolean {
    return this.#requests.has(response);
  }

  add(response: ServerResponse, bytes: number): void {
    this.#requests.set(response, { length: 0, run: undefined });
    this.#bytes += bytes;
    response.once("close", () => {
      this.#requests.delete(response);
      this.#bytes -= bytes;
    });
    if (this.#requests.size > maxWaiting) this.shed();
  }

  wait(response: ServerResponse, length: number, run: () => void): void {
    const held = this.#requests.get(response);
    if (held === undefined || this.#isShed) return;
    held.length = length;
    held.run = run;
    this.#length += length;
    if (this.#length > maxWaitingLength) this.shed();
    response.once("socket", () => {
      this.#length -= held.length;
      // Node has not finished assigning the socket.
      queueMicrotask(() => held.run?.());
    });
  }

  shed(): void {
    this.#isShed = true;
    // Node keeps the requests until the end of the turn, which may read many others.
    this.#release();
    this.#socket.destroy();
  }

  /** Drops the bodies. */
  #release(): void {
    for (const held of this.#requests.values()) {
      held.length = 0;
      held.run = undefined;
    }
    this.#length = 0;
  }
}

function bytesOf({ rawHeaders = [] }: Partial<IncomingMessage>): number {
  let bytes = bytesOfRequest;
  for (const text of rawHeaders) bytes += text.length + bytesOfHeaderText;
  return bytes;
}

export function hasManyHeaders({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders?.length > manyHeaderTexts;
}

/**
 * A response that has closed still refers to all requests of its connection that were read, and so does a socket. Calls
 * keep both while they run, even if their client has gone.
 */
function forgetConnection(this: ServerResponse): void {
  this.removeAllListeners("finish");
  // Node has no public way to do it, so a test checks that nothing is kept.
  (this as { _onPendingData?: () => void })._onPendingData = nothing;
  const { socket } = this;
  if (socket?.closed) for (const event of eventsOfConnection) socket.removeAllListeners(event);
}

/** Whether a request waits for an earlier one of its connection. */
function isWaiting(response: ServerResponse): boolean {
  // A response has its socket from its turn until its end; an imitation of Node's response may never have one.
  return response.socket === null && !response.headersSent;
}

/**
 * Counts a request that was read, if that takes much memory; disconnects the client if it is too much. Once its response
 * has closed, it keeps nothing else of its connection.
 */
export function countRequest(
  request: IncomingMessage,
  response: ServerResponse,
  buffers: WireBuffers,
): void {
  const { socket } = request;
  if (!(socket instanceof Socket)) return;
  response.on("close", forgetConnection);
  if (socket.closed || (!isWaiting(response) && !hasManyHeaders(request))) return;
  const queue = queues.get(socket) ?? new PipelineQueue(socket, buffers);
  queues.set(socket, queue);
  if (queue.has(response)) return;
  const bytes = bytesOf(request);
  queue.add(response, bytes);
  if (buffers.hasRoom) buffers.moved(bytes);
  else queue.shed();
}

/**
 * Runs what answers a request, which was counted, after the earlier requests of its connection were answered. Node emits
 * pipelined requests immediately, so one connection could start unlimited calls, and Node would not report a disconnect
 * for the queued ones. The body, `length` characters long, is read before: until it is, Node reads nothing else from the
 * connection.
 */
export function inTurn(
  request: IncomingMessage,
  response: ServerResponse,
  buffers: WireBuffers,
  run: () => void,
  length = 0,
): void {
  const { socket } = request;
  if (!isWaiting(response) || !(socket instanceof Socket)) {
    run();
    return;
  }
  queues.get(socket)?.wait(response, length, run);
  buffers.moved(length);
}
