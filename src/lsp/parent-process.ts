import { type Clock, systemClock } from "../protocol/clock.ts";

const checkMs = 3_000;

/**
 * Runs `gone` when a process has ended; an editor that is killed sends no `exit`. The returned function stops
 * watching. Nothing is watched where processes cannot be looked up.
 */
export function watchProcess(
  processId: number,
  gone: () => void,
  clock: Clock = systemClock,
  isAlive: (processId: number) => boolean = isRunning,
): () => void {
  const check = (): void => {
    if (isAlive(processId)) timer = clock.after(checkMs, check);
    else gone();
  };
  let timer = clock.after(checkMs, check);
  return () => timer.cancel();
}

function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    // Anything else does not show that it ended: it belongs to another user, or is not an id.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
