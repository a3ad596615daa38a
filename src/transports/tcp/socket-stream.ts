import type { Socket } from "node:net";
import type { ByteStream } from "../../connection/stream-channel.ts";
import { longestDelayMs } from "../../protocol/clock.ts";
import { defaultWriteTimeoutMs } from "../../protocol/defaults.ts";
import type { WireBuffers } from "../../protocol/memory-bounds.ts";
import { NodeByteStream } from "../../streams/node-stream.ts";
import { countUnsent } from "../../streams/unsent-bytes.ts";

const keepAliveMs = 30_000;
/** How long the last replies may take to leave when a socket closes. */
const flushMs = 10_000;
/** How long the peer may take to close its side. */
const lingerMs = 1_000;

export interface SocketStreamOptions {
  /** How long to wait for a peer that does not read. @default 10000 */
  readonly writeTimeoutMs?: number | undefined;
  /** Counts what the peer has not read when the socket closes. */
  readonly buffers?: WireBuffers;
}

/** A connected socket as a stream of bytes. */
export function socketStream(socket: Socket, options: SocketStreamOptions = {}): ByteStream {
  const { writeTimeoutMs = defaultWriteTimeoutMs, buffers } = options;
  // Messages of one turn leave in one write, so Nagle's algorithm would only delay them.
  socket.setNoDelay(true);
  socket.setKeepAlive(true, keepAliveMs);
  let failure: Error | undefined;
  const stream = new NodeByteStream(socket, socket, {
    end: () => closeGracefully(socket, buffers),
    destroy: () => socket.destroy(),
    // Node's own timeout knows whether any of the waiting bytes has left.
    paused: (_, unread) => socket.setTimeout(unread ? Math.min(writeTimeoutMs, longestDelayMs) : 0),
  });
  socket.on("timeout", () => socket.destroy(new Error("the peer does not read")));
  socket.on("error", (error) => {
    failure = error;
    // Node reports a broken TLS record as an error, and leaves the socket open.
    socket.destroy();
  });
  // A peer that died and one that closed its side look the same, so both count as disconnected.
  socket.on("end", () => {
    stream.over();
    closeGracefully(socket, buffers);
  });
  socket.on("close", () => stream.over(failure));
  return stream;
}

/** Sends what is queued, then FIN, and gives the peer a moment to close its side. */
function closeGracefully(socket: Socket, buffers: WireBuffers | undefined): void {
  if (socket.writableEnded || socket.destroyed) return;
  socket.setTimeout(0);
  // Unread bytes would turn the close into a reset, which can lose the last reply.
  socket.resume();
  let timer = setTimeout(() => socket.destroy(), flushMs);
  socket.once("finish", () => {
    clearTimeout(timer);
    timer = setTimeout(() => socket.destroy(), lingerMs);
  });
  socket.once("close", () => clearTimeout(timer));
  socket.end();
  if (buffers !== undefined) countUnsent(socket, buffers);
}
