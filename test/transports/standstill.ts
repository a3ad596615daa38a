import { turn } from "./contract-methods.ts";

/** Looks again and again until what is read stays the same, and gives it. `pause` lies between two looks. */
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
