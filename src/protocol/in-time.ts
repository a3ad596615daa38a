import type { Clock } from "./clock.ts";

/** What a promise comes to; rejects with this sentence where it takes longer, or for ever. */
export function inTime<T>(
  clock: Clock,
  ms: number,
  coming: PromiseLike<T>,
  sentence: string,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = clock.after(ms, () => reject(new Error(sentence)));
    coming.then(resolve, reject).then(() => late.cancel());
  });
}
