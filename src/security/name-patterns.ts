import { copyString } from "../protocol/string-copy.ts";

/** Most method names whose match is cached, and the longest in characters; callers can make up names. */
const mostKept = 1024;
const longestKept = 128;

/**
 * Matches method names against patterns. `*` matches any characters within a segment, and `**` as a
 * segment any number of segments: `search/*` matches one level below, `system/**` all levels.
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
    if (name.length <= longestKept) kept.set(copyString(name), fits);
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
 * Whether parts match a pattern in which `any` matches any number of them. It backtracks only to the
 * last `any`, so that no pattern and no name can make it slow.
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
