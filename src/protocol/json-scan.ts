/** Index of the next character that is not white space. */
export function skipSpace(text: string, at: number): number {
  let i = at;
  while (i < text.length && text.charCodeAt(i) <= 0x20) i++;
  return i;
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
/** The bit by which a brace differs from a bracket. */
const curl = 0x20;
const opening = 0x7b;
const closing = 0x7d;

/** Index behind the JSON value that starts at `at`, in JSON that has been parsed. */
export function valueEnd(text: string, at: number): number {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    let c = text.charCodeAt(i);
    if (c === quote) {
      do {
        c = text.charCodeAt(++i);
        if (c === backslash) {
          i++;
          c = 0;
        }
      } while (c !== quote);
      if (depth === 0) return i + 1;
    } else if ((c | curl) === opening) depth++;
    else if ((c | curl) === closing) {
      if (depth === 0) return i;
      depth--;
      if (depth === 0) return i + 1;
    } else if (depth === 0 && (c === comma || c <= 0x20)) return i;
  }
  return text.length;
}

/**
 * The JSON of an array without the entries that are dropped. Serializing the rest again would overflow the stack for
 * deep nesting, and change numbers that a double cannot hold.
 */
export function keptEntries(text: string, keeps: readonly boolean[]): string {
  const kept: string[] = [];
  let at = skipSpace(text, 0);
  for (const isKept of keeps) {
    const start = skipSpace(text, at + 1);
    const end = valueEnd(text, start);
    if (isKept) kept.push(text.slice(start, end));
    at = skipSpace(text, end);
  }
  return `[${kept.join(",")}]`;
}
