import type { Clock } from "./clock.ts";

/** Something took too long. */
export class LateError extends Error {
  override readonly name = "LateError";
}

/** What a promise comes to; rejects with a `LateError` of this sentence where it takes longer, or for ever. */
export function inTime<T>(
  clock: Clock,
  ms: number,
  coming: PromiseLike<T>,
  sentence: string,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = clock.after(ms, () => reject(new LateError(sentence)));
    coming.then(resolve, reject).then(() => late.cancel());
  });
}
