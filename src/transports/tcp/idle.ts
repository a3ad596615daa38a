import type { Socket } from "node:net";
import type { Connection } from "../../connection/connection.ts";
import { Heartbeat, type HeartbeatOptions } from "../../connection/heartbeat.ts";
import type { StreamChannel } from "../../connection/stream-channel.ts";
import type { Clock } from "../../protocol/clock.ts";

/**
 * Asks a server that has long been silent for a sign of life, and gives it up when none comes: with
 * bytes on their way, the system itself would try for a quarter of an hour. Only the end that calls
 * asks, because a client that only calls may not expect to be asked.
 */
export function closeWhenDead(
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

/** How long a peer may take to say something that can be read. Our own clients ask for a sign of life after 30 s. */
const firstMessageMs = 45_000;

/** Closes a connection without calls whose peer says nothing: soon if it never said anything, else after `idleMs`. */
export function closeWhenIdle(
  connection: Connection,
  channel: StreamChannel,
  idleMs: number,
  clock: Clock,
): void {
  if (idleMs === Number.POSITIVE_INFINITY) return;
  let received = 0;
  const look = (): void => {
    const isSilent = connection.received === received && channel.arrivingBytes === 0;
    if (isSilent && connection.origin.inFlight === 0 && connection.pending === 0) {
      // A call that is on its way gets to know that it did not run.
      void connection.dismiss();
      return;
    }
    received = connection.received;
    timer = clock.after(idleMs, look);
  };
  let timer = clock.after(Math.min(firstMessageMs, idleMs), look);
  void connection.closed.then(() => timer.cancel());
}
