import type { ChildProcess } from "node:child_process";

const living = new Set<ChildProcess>();

/** Takes care that a child does not outlive this process. */
export function watchOver(child: ChildProcess): void {
  if (living.size === 0) process.on("exit", endAll);
  living.add(child);
  child.once("exit", () => {
    living.delete(child);
    if (living.size === 0) process.off("exit", endAll);
  });
}

function endAll(): void {
  for (const child of living) child.kill();
}
