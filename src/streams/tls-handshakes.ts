import type { Socket } from "node:net";
import type { Server, TLSSocket } from "node:tls";
import type { Clock, Timer } from "../protocol/clock.ts";

/**
 * Disconnects clients that do not finish their TLS handshake in time. Node's own limit restarts with each byte, and
 * leaves the connection open when it is reached.
 */
export function limitHandshakes(server: Server, limitMs: number, clock: Clock): void {
  const unfinished = new Map<string, Timer>();
  const finish = (name: string): void => {
    unfinished.get(name)?.cancel();
    unfinished.delete(name);
  };
  server.on("connection", (socket: Socket) => {
    // A pipe has no port to recognize it by, and its clients are on this machine.
    if (socket.remotePort === undefined) return;
    const name = nameOf(socket);
    const timer = clock.after(limitMs, () => socket.destroy());
    unfinished.set(name, timer);
    socket.once("close", () => finish(name));
  });
  server.on("secureConnection", (socket: TLSSocket) => finish(nameOf(socket)));
  server.on("tlsClientError", (_, socket: TLSSocket) => socket.destroy());
}

/** The socket before the handshake and the one after it are two objects. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
