/** A suggestion for a misspelt name; empty if no name is near. */
export function didYouMean(
  word: string,
  names: Iterable<string>,
  shown: (name: string) => string = JSON.stringify,
): string {
  const name = nearest(word, names);
  return name === undefined ? "" : `; did you mean ${shown(name)}?`;
}

/** The name with the smallest edit distance, if that is small for its length. */
function nearest(word: string, names: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const name of names) {
    const known = name.toLowerCase();
    // The last part is enough: `add` for `math/add`.
    const changes =
      /[/._]/.test(known.slice(-wanted.length - 1, -wanted.length)) && known.endsWith(wanted)
        ? 1
        : distance(wanted, known);
    if (changes < least) [best, least] = [name, changes];
  }
  return best;
}

/** Edit distance with transpositions; returns early if the lengths differ too much. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > a.length) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (above[j - 1] ?? 0) + cost);
      const areSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (areSwapped) least = Math.min(least, (before[j - 2] ?? 0) + 1);
      row.push(least);
    }
    [before, above] = [above, row];
  }
  return above[b.length] ?? 0;
}
