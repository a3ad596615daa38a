import type { Server } from "node:net";

/** So many turns and so long at most, where others keep coming; a busy process takes long for a turn. */
const mostTurns = 1_000;
const mostMs = 2_000;

/**
 * Resolves when all who have connected were accepted. Node accepts one in each turn, and the system resets those who
 * wait when the server closes: they could not tell whether their calls ran.
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
    // The first ends within the turn that is under way, the second after one in which it was looked who waits.
    await turn();
    await turn();
  }
  server.off("connection", accept);
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
