import type { IncomingMessage } from "node:http";

/** Whether a request names this machine; a name that was rebound to it is not ours. */
export function isOwnHost({ headers, socket }: IncomingMessage): boolean {
  const names = ["127.0.0.1", "localhost", "[::1]"];
  return names.some((name) => headers.host?.toLowerCase() === `${name}:${socket.localPort}`);
}
