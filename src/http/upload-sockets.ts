import type { IncomingMessage } from "node:http";

/** After so long without a byte, the operating system asks whether the client is still there. */
const keepAliveMs = 60_000;

const arriving = new WeakSet<object>();

/** The body of this request arrives for as long as its call runs. */
export function markUpload(request: IncomingMessage): void {
  const { socket } = request;
  arriving.add(socket);
  // A client that waits for its next item and one that is gone look the same otherwise.
  socket.setKeepAlive?.(true, keepAliveMs);
  request.once("close", () => arriving.delete(socket));
}

/** Whether an upload arrives on a socket, so that the time for a whole request does not apply. */
export function hasUpload(socket: object): boolean {
  return arriving.has(socket);
}
