import type { Terminal } from "./terminal.ts";

/** Widest column; a long name from a server would otherwise pad every row. */
const maxColumnWidth = 80;

/** The width of a column with these cells; there may be more cells than a call accepts arguments. */
export function widest(cells: readonly string[]): number {
  const longest = cells.reduce((most, { length }) => Math.max(most, length), 0);
  return Math.min(longest, maxColumnWidth);
}

/** The width of the terminal; 80 in a pipe. */
function screenWidth(): number {
  return process.stdout.columns || Number(process.env.COLUMNS) || 80;
}

/** Least room for the right column; in a narrower terminal it goes below the left one. */
const leastRight = 24;

/** Two columns; the right one is wrapped between words. */
export function columns(rows: readonly (readonly [string, string])[], screen = screenWidth()) {
  const width = widest(rows.map(([left]) => left));
  if (screen - width - 4 < leastRight) {
    return rows.flatMap(([left, right]) => [
      ...wrapped(`  ${left}`, "    ", screen),
      ...wrapped(`      ${right}`, "      ", screen),
    ]);
  }
  const indent = " ".repeat(width + 4);
  return rows.flatMap(([left, right]) =>
    wrapped(`  ${left.padEnd(width)}  ${right}`, indent, screen),
  );
}

interface ShownColumns {
  /** Colours the left column. */
  readonly paint: (text: string) => string;
  readonly indent?: string;
}

/** Prints two columns, wrapped on a terminal; programs get one line per row. */
export function showColumns(
  rows: readonly (readonly [string, string])[],
  terminal: Terminal,
  { paint, indent = "  " }: ShownColumns,
): void {
  const width = terminal.isTerminal ? terminal.width : Number.POSITIVE_INFINITY;
  const margin = 2;
  for (const line of columns(rows, width + margin - indent.length)) {
    const text = line.slice(margin).trimEnd();
    terminal.line(indent + text.replace(/^\S+(?: \S+)*/, paint));
  }
}

/** Breaks a line between words; `indent` begins all lines but the first. */
export function wrapped(text: string, indent = "", screen = screenWidth()): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > screen) {
    const start = lines.length === 0 ? /^\s*/.exec(rest)?.[0].length : indent.length;
    const at = rest.lastIndexOf(" ", screen);
    // A word that is longer than a line stays whole, so that it can be copied.
    const end = at > (start ?? 0) ? at : rest.indexOf(" ", Math.max(screen, start ?? 0));
    if (end < 0) break;
    lines.push(rest.slice(0, end).trimEnd());
    rest = indent + rest.slice(end).trimStart();
  }
  return [...lines, rest];
}
