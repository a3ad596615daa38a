import type { PositionEncodingKind } from "./model/enumerations.ts";

/** How the characters of a position are counted. */
export interface PositionEncoding {
  readonly kind: PositionEncodingKind;
  /** The number of units in `text` from `start` to `end`. */
  count(text: string, start: number, end: number): number;
  /** The offset that is `units` after `start`, but not after `end`; rounded down to a whole character. */
  advance(text: string, start: number, end: number, units: number): number;
}

const utf16: PositionEncoding = {
  kind: "utf-16",
  count: (_, start, end) => end - start,
  advance: (_, start, end, units) => Math.min(start + units, end),
};

const utf8 = byCharacter("utf-8", (codePoint) =>
  codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4,
);

const utf32 = byCharacter("utf-32", () => 1);

/** The encodings by name; "utf-16" is the one that every client supports. */
export const positionEncodings: Readonly<Record<string, PositionEncoding>> = {
  "utf-8": utf8,
  "utf-16": utf16,
  "utf-32": utf32,
};

function byCharacter(
  kind: PositionEncodingKind,
  unitsOf: (codePoint: number) => number,
): PositionEncoding {
  return {
    kind,
    count(text, start, end) {
      let units = 0;
      for (let at = start; at < end; ) {
        const codePoint = text.codePointAt(at) as number;
        // An offset between the halves of a surrogate pair counts as one before it.
        if (at + widthOf(codePoint) > end) break;
        units += unitsOf(codePoint);
        at += widthOf(codePoint);
      }
      return units;
    },
    advance(text, start, end, units) {
      let at = start;
      for (let left = units; at < end; ) {
        const codePoint = text.codePointAt(at) as number;
        left -= unitsOf(codePoint);
        if (left < 0) break;
        at += widthOf(codePoint);
      }
      return Math.min(at, end);
    },
  };
}

function widthOf(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1;
}
