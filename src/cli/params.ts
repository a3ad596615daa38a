import { text as readAll } from "node:stream/consumers";
import type { Params } from "callwire";
import { Failure, invalid } from "./failure.ts";
import { fileText } from "./files.ts";
import { parseJson } from "./json-values.ts";
import { splitWords } from "./link-from-url.ts";

export const aboutParams =
  "Params are JSON, named (a=2 b.c=3 photo=@sea.jpg), by position (2 3), @file, or - for stdin.";

/** The same for verbs whose params must be named. */
export const aboutNamedParams =
  "Params are a JSON object, named (a=2 b.c=3), @file, or - for stdin.";

/** The value of a word at a path, such as `b.c`, if it is not the JSON or the string that the word looks like. */
export type ReadWord = (path: readonly string[], word: string) => unknown;

const asItLooks: ReadWord = () => undefined;

export async function paramsFrom(
  words: readonly string[],
  read: ReadWord = asItLooks,
): Promise<Params | undefined> {
  const [first = "", second] = words;
  if (second === undefined) {
    if (first === "-") return paramsOf(await readAll(process.stdin), "standard input");
    if (/^@./.test(first)) return paramsOf(await fileText(first.slice(1)), first.slice(1));
  }
  return paramsOfWords(words, read);
}

/** Params from the words themselves, without files and stdin. */
function paramsOfWords(words: readonly string[], read: ReadWord = asItLooks): Params | undefined {
  const [first, second] = words;
  if (first === undefined) return undefined;
  if (second === undefined && /^\s*[[{]/.test(first)) return paramsOf(first, "params");
  const named = words.filter(isNamed);
  if (named.length === words.length) return paramsByName(words, read);
  if (named.length === 0) return words.map(valueFrom);
  throw new Failure(
    `params must all be named, such as a=2, or all be by position; only some are, such as ${JSON.stringify(named[0])}`,
  );
}

/** Whether all words are named. */
export function hasNames(words: readonly string[]): boolean {
  return words.length > 0 && words.every(isNamed);
}

/** Whether a named value is something else as JSON than as a string. */
export function hasJsonValues(words: readonly string[]): boolean {
  return words.some((word) => {
    const [, value] = namedWord(word);
    return isNamed(word) && parsed(value) !== value;
  });
}

/** The path and the value of a named word. */
export function namedWord(word: string): [path: string[], text: string] {
  const at = word.indexOf("=");
  return [word.slice(0, at).split("."), word.slice(at + 1)];
}

function isNamed(word: string): boolean {
  return /^[^=\s"[{]+=/.test(word);
}

function paramsOf(text: string, where: string): Params {
  const value = parseJson(text, where);
  refuseRounding(text);
  if (typeof value === "object" && value !== null) return value as Params;
  throw invalid(`${where}: params`, "an array or an object", value);
}

type Group = { [name: string]: unknown };

function paramsByName(words: readonly string[], read: ReadWord): Params {
  const params = group();
  for (const word of words) {
    const [path, text] = namedWord(word);
    const last = path.at(-1) as string;
    let place = params;
    for (const name of path.slice(0, -1)) {
      place[name] ??= group();
      place = place[name] as Group;
      if (typeof place !== "object" || Array.isArray(place)) {
        throw new Failure(`${word}: ${name} already has a value, and cannot have members`);
      }
    }
    if (last in place) throw new Failure(`${word}: ${last} is given twice; remove one`);
    place[last] = read(path, text) ?? valueFrom(text);
  }
  return params;
}

/** Without a prototype, so that names such as __proto__ are plain members. */
function group(): Group {
  return Object.create(null) as Group;
}

function valueFrom(word: string): unknown {
  const value = parsed(word);
  if (value !== word) refuseRounding(word);
  return value;
}

function parsed(word: string): unknown {
  try {
    return JSON.parse(word);
  } catch {
    return word;
  }
}

/** Refuses a number that JavaScript would round: it may be an id. */
function refuseRounding(json: string): void {
  for (const token of numbersIn(json)) {
    const number = Number(token);
    const isWhole = /^-?\d+$/.test(token);
    if (Number.isSafeInteger(number)) continue;
    if (Number.isFinite(number) && (!isWhole || BigInt(number) === BigInt(token))) continue;
    const shown = token.slice(0, 40);
    throw new Failure(
      `the number ${shown} would be rounded to ${number}; send it as a string, "${shown}"`,
    );
  }
}

/** The numbers in JSON; strings are skipped by hand, because a regular expression overflows the stack on long ones. */
function* numbersIn(json: string): Iterable<string> {
  const quoteOrNumber = /"|-?\d[\d.eE+-]*/g;
  for (let found = quoteOrNumber.exec(json); found !== null; found = quoteOrNumber.exec(json)) {
    const [token] = found;
    if (token === '"') quoteOrNumber.lastIndex = endOfString(json, found.index);
    else yield token;
  }
}

/** The index after the closing quote of the string that begins at `start`. */
function endOfString(json: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = json.indexOf('"', at);
    let before = at;
    while (json[before - 1] === "\\") before--;
    if ((at - before) % 2 === 0) return at + 1;
  }
}

/** Parses a typed call: a method, then its params as for `callwire call`. */
export function requestLine(line: string): { method: string; params: Params | undefined } {
  const [, method = "", rest = ""] = /^\s*(\S+)\s*([\s\S]*?)\s*$/.exec(line) ?? [];
  // JSON is not split: it has quotes and spaces of its own.
  return { method, params: paramsOfWords(/^[[{]/.test(rest) ? [rest] : splitWords(rest)) };
}
