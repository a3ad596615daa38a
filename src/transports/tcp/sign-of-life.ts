import type { Socket } from "node:net";
import type { Connection } from "../../connection/connection.ts";
import { Heartbeat, type HeartbeatOptions } from "../../connection/heartbeat.ts";

/**
 * Asks a server that has long been silent for a sign of life, and gives it up when none comes: with
 * bytes on their way, the system itself would try for a quarter of an hour. Only the end that calls
 * asks, because a client that only calls may not expect to be asked.
 */
export function expectSignsOfLife(
  socket: Socket,
  connection: Connection,
  options: HeartbeatOptions,
): void {
  const ask = (): void => {
    // A server that works on one call at a time cannot answer now, and open calls have their deadlines.
    if (connection.pending > 0) heartbeat.heard();
    // Any answer will do, such as that there is no such method.
    else connection.call("$/ping").catch(() => {});
  };
  const giveUp = (): void => void socket.destroy(new Error("the other end gives no sign of life"));
  const heartbeat = new Heartbeat(options, ask, giveUp);
  socket.on("data", () => heartbeat.heard());
  void connection.closed.then(() => heartbeat.stop());
}
