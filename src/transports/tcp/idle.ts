import type { Socket } from "node:net";
import type { Connection } from "../../connection/connection.ts";
import { Heartbeat, type HeartbeatOptions } from "../../connection/heartbeat.ts";
import type { StreamChannel } from "../../connection/stream-channel.ts";
import type { Clock } from "../../protocol/clock.ts";

/**
 * Pings a silent server, and closes the connection if no reply comes: with unacknowledged bytes, the system itself
 * would retry for a quarter of an hour. Only the client pings, because a client may not expect to be called.
 */
export function closeWhenDead(
  socket: Socket,
  connection: Connection,
  options: HeartbeatOptions,
): void {
  const ask = (): void => {
    // A server that handles one call at a time cannot answer now, and open calls have their timeouts.
    if (connection.pending > 0) heartbeat.received = true;
    // Any reply will do, such as "Method not found".
    else connection.call("$/ping").catch(() => {});
  };
  const giveUp = (): void => void socket.destroy(new Error("the peer does not answer pings"));
  const heartbeat = new Heartbeat(options, ask, giveUp);
  socket.on("data", () => (heartbeat.received = true));
  void connection.closed.then(() => heartbeat.stop());
}

/** How long a peer may take to send its first message. Callwire clients ping after 30 s. */
const firstMessageMs = 45_000;

/**
 * Closes a connection without calls whose peer is silent: early if it never sent anything, otherwise after `idleMs`.
 */
export function closeWhenIdle(
  connection: Connection,
  channel: StreamChannel,
  idleMs: number,
  clock: Clock,
): void {
  if (idleMs === Number.POSITIVE_INFINITY) return;
  let received = 0;
  const check = (): void => {
    const isSilent = connection.received === received && channel.arrivingBytes === 0;
    if (isSilent && connection.origin.inFlight === 0 && connection.pending === 0) {
      // The caller of a call in transit learns that it did not run.
      void connection.dismiss();
      return;
    }
    received = connection.received;
    timer = clock.after(idleMs, check);
  };
  let timer = clock.after(Math.min(firstMessageMs, idleMs), check);
  void connection.closed.then(() => timer.cancel());
}
