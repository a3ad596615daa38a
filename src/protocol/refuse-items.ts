/** An async iterable is no result: as JSON it has no members, and its items would be lost without a word. */
export function refuseItems(result: unknown): void {
  if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result)) return;
  throw new TypeError("the result is an async iterable; define the method with stream()");
}
