/** A column is never wider, so that one long name from a server does not multiply by the number of rows. */
const mostCharacters = 80;

/** The width of a column that these stand in. There may be more of them than a call takes arguments. */
export function widest(texts: readonly string[]): number {
  const longest = texts.reduce((most, { length }) => Math.max(most, length), 0);
  return Math.min(longest, mostCharacters);
}
