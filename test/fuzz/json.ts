/** JSON as peers write it, and as attackers would. */
import type { Random } from "./random.ts";

const strings = [
  "a",
  "",
  "id",
  "method",
  "__proto__",
  "constructor",
  "toString",
  "length",
  "grüße",
  "\u2028",
  "🙂",
  '",\\"',
  "\ud800",
  "\u0000",
  "x".repeat(300),
];

const numbers = [
  "0",
  "1",
  "-1",
  "-0",
  "1.5",
  "1e5",
  "1E400",
  "-1e-7",
  "9007199254740991",
  "9007199254740993",
  "123456789012345",
  "1234567890123456",
  `1${"0".repeat(300)}`,
];

/** The JSON of any value. */
export function jsonText(random: Random, depth = 3): string {
  switch (random.below(depth > 0 ? 9 : 6)) {
    case 0:
      return random.pick(numbers);
    case 1:
      return stringText(random);
    case 2:
      return `${random.below(100)}`;
    case 3:
      return "null";
    case 4:
      return random.pick(["true", "false"]);
    case 5:
      return random.pick(["[]", "{}", "[1,2]", '{"a":1}', '{"id":5}']);
    case 6:
      return random.oneIn(200)
        ? nested(random)
        : arrayText(random, () => jsonText(random, depth - 1));
    default:
      return objectText(random, () => [stringText(random), jsonText(random, depth - 1)]);
  }
}

function nested(random: Random): string {
  const depth = random.pick([61, 62, 63, 64, 65, 200, 1_500]);
  return random.oneIn(2)
    ? "[".repeat(depth) + "]".repeat(depth)
    : `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
}

export function stringText(random: Random): string {
  const text = JSON.stringify(random.pick(strings));
  // An escaped form of the same string.
  if (random.oneIn(12) && text.length > 2) {
    const code = text.charCodeAt(1);
    if (code > 0x22 && code !== 0x5c)
      return `"\\u${code.toString(16).padStart(4, "0")}${text.slice(2)}`;
  }
  return text;
}

export function arrayText(random: Random, item: () => string): string {
  return `[${spaced(random, random.some(4, item))}]`;
}

export function objectText(random: Random, member: () => readonly [string, string]): string {
  return `{${spaced(
    random,
    random.some(4, () => member().join(space(random, ":"))),
  )}}`;
}

/** Joins members with commas, mostly without spaces. */
export function spaced(random: Random, members: readonly string[]): string {
  return members.join(space(random, ","));
}

function space(random: Random, separator: string): string {
  return random.oneIn(8)
    ? random.pick([` ${separator}`, `${separator} `, `\n\t${separator}\r `])
    : separator;
}

const inserted = [
  "{",
  "}",
  "[",
  "]",
  '"',
  ",",
  ":",
  "\\",
  "0",
  "-",
  "e",
  " ",
  "\n",
  "\u0000",
  "\ufeff",
  "null",
  '"id":1,',
  "\ud800",
];

/** Sometimes the text with some characters changed. */
export function mutated(random: Random, text: string, oneIn = 3): string {
  if (!random.oneIn(oneIn)) return text;
  let result = text;
  for (let i = random.below(3); i >= 0; i--) {
    const at = random.below(result.length + 1);
    const end = at + random.below(4);
    switch (random.below(4)) {
      case 0:
        result = result.slice(0, at) + random.pick(inserted) + result.slice(at);
        break;
      case 1:
        result = result.slice(0, at) + result.slice(end);
        break;
      case 2:
        result = result.slice(0, at) + random.pick(inserted) + result.slice(at + 1);
        break;
      default: {
        // A part occurs twice.
        const from = random.below(at + 1);
        result = result.slice(0, at) + result.slice(from);
      }
    }
  }
  return result;
}

/** The JSON with one of its values replaced, mostly. */
export function oddly(random: Random, json: string): string {
  if (random.oneIn(3)) return json;
  const place = random.below(16);
  let i = 0;
  return json.replace(/"[^"]*":?|true|false|null|\b\d+\b|\[\]|\{\}/g, (token) =>
    !token.endsWith(":") && i++ === place ? jsonText(random, 1) : token,
  );
}

/** The bytes in pieces, as a network may deliver them; the lengths are part of the input. */
export function pieceLengths(random: Random): number[] {
  switch (random.below(3)) {
    case 0:
      return [];
    case 1:
      return [1];
    default:
      return Array.from(
        { length: 1 + random.below(6) },
        () => 1 + random.below(random.pick([2, 10, 60])),
      );
  }
}

/** Cuts bytes into these lengths, repeatedly; without lengths, into one piece. */
export function cut(bytes: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  if (lengths.length === 0) return [bytes];
  const pieces: Uint8Array[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const end = at + (lengths[i % lengths.length] as number);
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}
