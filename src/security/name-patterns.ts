import { ownCopy } from "../protocol/own-copy.ts";

/** Names from the wire are kept with their verdicts up to this many; anybody can make up more. */
const mostKept = 1024;
const longestKept = 128;

/**
 * Whether a method's name fits one of the patterns. `*` stands for any characters within a segment,
 * and `**` as a segment for any number of segments: `search/*` is one below, `system/**` all of them.
 */
export function nameMatcher(
  patterns: readonly string[],
  separator = "/",
): (name: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !pattern.includes("*")));
  const globs = patterns
    .filter((pattern) => pattern.includes("*"))
    .map((pattern) => pattern.split(separator));
  if (globs.length === 0) return (name) => exact.has(name);
  const kept = new Map<string, boolean>();
  return (name) => {
    if (exact.has(name)) return true;
    const known = kept.get(name);
    if (known !== undefined) return known;
    const segments = name.split(separator);
    const fits = globs.some((glob) => matches(glob, segments, "**", fitsSegment));
    if (kept.size >= mostKept) kept.clear();
    if (name.length <= longestKept) kept.set(ownCopy(name), fits);
    return fits;
  };
}

function fitsSegment(pattern: string, segment: string): boolean {
  return pattern.includes("*")
    ? matches([...pattern], [...segment], "*", equals)
    : pattern === segment;
}

function equals(a: string, b: string): boolean {
  return a === b;
}

/**
 * Whether parts fit a pattern in which `any` stands for any number of them. It goes back to the last
 * `any` only, so that no pattern and no name can make it take long.
 */
function matches(
  pattern: readonly string[],
  parts: readonly string[],
  any: string,
  fits: (pattern: string, part: string) => boolean,
): boolean {
  let p = 0;
  let i = 0;
  let retryPattern = -1;
  let retryPart = 0;
  while (i < parts.length) {
    const expected = pattern[p];
    if (expected === any) {
      retryPattern = p++;
      retryPart = i;
    } else if (expected !== undefined && fits(expected, parts[i] as string)) {
      p++;
      i++;
    } else if (retryPattern === -1) return false;
    else {
      p = retryPattern + 1;
      i = ++retryPart;
    }
  }
  while (pattern[p] === any) p++;
  return p === pattern.length;
}
