import { turn } from "./contract-methods.ts";

/** Reads repeatedly until the value stays the same, and returns it. `pause` is between two reads. */
export async function standstill<T>(
  read: () => T | Promise<T>,
  pause: () => Promise<unknown> = turn,
): Promise<T> {
  let last = await read();
  for (let same = 0; same < 50; ) {
    await pause();
    const now = await read();
    same = now === last ? same + 1 : 0;
    last = now;
  }
  return last;
}

/** Time for another process. */
export function aMoment(): Promise<unknown> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
