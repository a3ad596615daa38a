/** A text that stands in every URI of a form, or a value of at least one character, without those in `not`. */
export type UriPart = string | { readonly not: string };

/** What stands in a URI for the values of its form, and behind them. */
export interface UriValues {
  readonly values: readonly string[];
  readonly query: string;
}

/**
 * Parts a URI by a form, each value as long as the rest leaves it; undefined where it is not of this form.
 * Each part looks at each place once. An expression would try the ends of all values with each other, and
 * three values with hyphens between them would take it minutes.
 */
export function uriValues(
  uri: string,
  parts: readonly UriPart[],
  hasQuery: boolean,
): UriValues | undefined {
  /** Where each part ends if it begins at a place, and all that follow it fit. */
  const ends: Int16Array[] = [];
  let next = lastEnds(uri, hasQuery);
  for (const part of parts.toReversed()) {
    next = typeof part === "string" ? textEnds(uri, part, next) : valueEnds(uri, part.not, next);
    ends.unshift(next);
  }
  let at = 0;
  const values: string[] = [];
  for (const [i, part] of parts.entries()) {
    const end = ends[i]?.[at] ?? nowhere;
    if (end === nowhere) return undefined;
    if (typeof part !== "string") values.push(uri.slice(at, end));
    at = end;
  }
  return { values, query: uri.slice(at + 1) };
}

const nowhere = -1;

/** Behind the last part comes nothing, or a query. */
function lastEnds(uri: string, hasQuery: boolean): Int16Array {
  const ends = noEnds(uri);
  ends[uri.length] = uri.length;
  for (let at = uri.length - 1; hasQuery && at >= 0 && uri[at] !== "#"; at--) {
    if (uri[at] === "?" || uri[at] === "&") ends[at] = uri.length;
  }
  return ends;
}

function textEnds(uri: string, text: string, next: Int16Array): Int16Array {
  const ends = noEnds(uri);
  for (let at = uri.indexOf(text); at !== -1; at = uri.indexOf(text, at + 1)) {
    const end = at + text.length;
    if (next[end] !== nowhere) ends[at] = end;
    // An empty one is found at the end again and again.
    if (end === uri.length) break;
  }
  return ends;
}

function valueEnds(uri: string, not: string, next: Int16Array): Int16Array {
  const ends = noEnds(uri);
  for (let at = uri.length - 1; at >= 0; at--) {
    if (not.includes(uri.charAt(at))) continue;
    const longer = ends[at + 1] as number;
    ends[at] = longer === nowhere && next[at + 1] !== nowhere ? at + 1 : longer;
  }
  return ends;
}

function noEnds(uri: string): Int16Array {
  return new Int16Array(uri.length + 1).fill(nowhere);
}
