/** Rejects members that nothing would read, such as misspelt ones. */
export function checkMembers(given: object, known: readonly string[], what: string): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${what} has an unknown member "${unknown}"; known are ${known.join(", ")}`);
}
