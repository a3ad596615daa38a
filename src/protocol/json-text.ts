/** Where the next character stands that is no space. */
export function skipSpace(text: string, at: number): number {
  let i = at;
  while (i < text.length && text.charCodeAt(i) <= 0x20) i++;
  return i;
}

const quote = 0x22;
const backslash = 0x5c;

/** Where the JSON value that starts at `at` ends, in a text that has been parsed. */
export function valueEnd(text: string, at: number): number {
  let depth = 0;
  let i = at;
  while (i < text.length) {
    const c = text.charCodeAt(i);
    if (c === quote) {
      i++;
      while (text.charCodeAt(i) !== quote) i += text.charCodeAt(i) === backslash ? 2 : 1;
      i++;
      if (depth === 0) return i;
      continue;
    }
    if (c === 0x7b || c === 0x5b) depth++;
    else if (c === 0x7d || c === 0x5d) {
      if (depth === 0) return i;
      depth--;
      if (depth === 0) return i + 1;
    } else if (depth === 0 && (c === 0x2c || c <= 0x20)) return i;
    i++;
  }
  return i;
}
