import type { IncomingMessage } from "node:http";

const arriving = new WeakSet<object>();

/** The body of this request arrives for as long as its call runs. */
export function markUpload(request: IncomingMessage): void {
  const { socket } = request;
  arriving.add(socket);
  request.once("close", () => arriving.delete(socket));
}

/** Whether an upload arrives on a socket, so that the time for a whole request does not apply. */
export function hasUpload(socket: object): boolean {
  return arriving.has(socket);
}
