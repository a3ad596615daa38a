import type { Server } from "node:net";

/** Limits on turns and time, for servers to which clients keep connecting; a turn of a busy process takes long. */
const mostTurns = 1_000;
const mostMs = 2_000;

/**
 * Resolves when all pending connections were accepted. Node accepts one per turn, and the system resets those that
 * still wait when the server closes: their clients could not know whether their calls ran.
 */
export async function acceptWaiting(server: Server): Promise<void> {
  let isOver = false;
  const accept = (): void => {
    isOver = false;
  };
  server.on("connection", accept);
  const endsAt = performance.now() + mostMs;
  for (let turns = 0; turns < mostTurns && !isOver && performance.now() < endsAt; turns++) {
    isOver = true;
    // The first ends within the current turn, the second after a turn that polled for connections.
    await turn();
    await turn();
  }
  server.off("connection", accept);
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
