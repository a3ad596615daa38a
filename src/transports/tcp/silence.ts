import type { Connection } from "../../connection/connection.ts";
import type { StreamChannel } from "../../connection/stream-channel.ts";
import type { Clock } from "../../protocol/clock.ts";

/** How long a peer may take to say something that can be read. Our own clients ask for a sign of life after 30 s. */
const firstMessageMs = 45_000;

/** Closes a connection without calls whose peer says nothing: soon if it never said anything, else after `idleMs`. */
export function endSilent(
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
