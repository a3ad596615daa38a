import { readFile } from "node:fs/promises";
import { text as readAll } from "node:stream/consumers";
import type { Params } from "callwire";
import { Failure, oneLine } from "./failure.ts";
import { wordsOf } from "./link-from-url.ts";

/** The forms of params, for the help of each verb that takes them. */
export const aboutParams =
  "Params are JSON, names and values (a=2 b.c=3), values in order (2 3), @file, or - for stdin.";

/** The same for verbs whose params all have names. */
export const aboutNamedParams =
  "Params are a JSON object, names and values (a=2 b.c=3), @file, or - for stdin.";

/** Whether the value at a place, such as `b.c`, is text however it looks. */
export type IsText = (path: readonly string[], value: string) => boolean;

const unknown: IsText = () => false;

/** Params as they stand on the command line, or in the file or the input that it names. */
export async function paramsFrom(
  words: readonly string[],
  isText: IsText = unknown,
): Promise<Params | undefined> {
  const [first = "", second] = words;
  if (second === undefined) {
    if (first === "-") return paramsOf(await readAll(process.stdin), "standard input");
    if (/^@./.test(first)) return paramsOf(await fileText(first.slice(1)), first.slice(1));
  }
  return paramsOfWords(words, isText);
}

/** The same for words that name no file. */
export function paramsOfWords(
  words: readonly string[],
  isText: IsText = unknown,
): Params | undefined {
  const [first, second] = words;
  if (first === undefined) return undefined;
  if (second === undefined && /^\s*[[{]/.test(first)) return paramsOf(first, "params");
  const named = words.filter(isNamed);
  if (named.length === words.length) return paramsByName(words, isText);
  if (named.length === 0) return words.map(valueFrom);
  throw new Failure(
    `params are all named, as in a=2, or all in order; ${JSON.stringify(named[0])} is named, others are not`,
  );
}

/** Whether a value with a name means something else as JSON than as text. */
export function hasJsonValues(words: readonly string[]): boolean {
  return words.some((word) => {
    const value = word.slice(word.indexOf("=") + 1);
    return isNamed(word) && parsed(value) !== value;
  });
}

function isNamed(word: string): boolean {
  return /^[^=\s"[{]+=/.test(word);
}

export async function fileText(path: string, missing = "there is no such file"): Promise<string> {
  try {
    // Some editors begin a file with a byte order mark, which is no part of its text.
    return (await readFile(path, "utf8")).replace(/^\uFEFF/, "");
  } catch (error) {
    const { code } = error as { code?: string };
    const why = code === "ENOENT" ? missing : oneLine(error);
    throw new Failure(`${path}: ${why}`, { cause: error });
  }
}

function paramsOf(text: string, where: string): Params {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Failure(`${where}: no JSON: ${oneLine(error)}`, { cause: error });
  }
  mustBeKept(text);
  if (typeof value === "object" && value !== null) return value as Params;
  throw new Failure(`${where}: params are an array or an object, not ${JSON.stringify(value)}`);
}

type Group = { [name: string]: unknown };

function paramsByName(words: readonly string[], isText: IsText): Params {
  const params = group();
  for (const word of words) {
    const at = word.indexOf("=");
    const path = word.slice(0, at).split(".");
    const last = path.at(-1) as string;
    let place = params;
    for (const name of path.slice(0, -1)) {
      place[name] ??= group();
      place = place[name] as Group;
      if (typeof place !== "object" || Array.isArray(place)) {
        throw new Failure(`${word}: ${name} is a value already, and not a group`);
      }
    }
    if (last in place) throw new Failure(`${word}: ${last} is given twice`);
    const text = word.slice(at + 1);
    place[last] = isText(path, text) ? text : valueFrom(text);
  }
  return params;
}

/** Without a prototype, so that no name means anything by itself. */
function group(): Group {
  return Object.create(null) as Group;
}

/** JSON where it parses, else text. */
function valueFrom(word: string): unknown {
  const value = parsed(word);
  if (value !== word) mustBeKept(word);
  return value;
}

function parsed(word: string): unknown {
  try {
    return JSON.parse(word);
  } catch {
    return word;
  }
}

/** Refuses JSON with a number that would be sent as another one, which may name another thing. */
function mustBeKept(json: string): void {
  for (const token of numbersIn(json)) {
    const number = Number(token);
    const isWhole = /^-?\d+$/.test(token);
    if (Number.isSafeInteger(number)) continue;
    if (Number.isFinite(number) && (!isWhole || BigInt(number) === BigInt(token))) continue;
    const shown = token.slice(0, 40);
    throw new Failure(
      `the number ${shown} would be sent as ${number}; write it as a text, "${shown}"`,
    );
  }
}

/** The numbers of a JSON text. Its texts are passed over by hand, since an expression for them runs out of stack where one is long. */
function* numbersIn(json: string): Iterable<string> {
  const quoteOrNumber = /"|-?\d[\d.eE+-]*/g;
  for (let found = quoteOrNumber.exec(json); found !== null; found = quoteOrNumber.exec(json)) {
    const [token] = found;
    if (token === '"') quoteOrNumber.lastIndex = endOfText(json, found.index);
    else yield token;
  }
}

/** Behind the quote that ends the text which begins here; in JSON that parses there is one. */
function endOfText(json: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = json.indexOf('"', at);
    let before = at;
    while (json[before - 1] === "\\") before--;
    if ((at - before) % 2 === 0) return at + 1;
  }
}

/** A call as it is typed: a method, then its params in any form that `callwire call` takes. */
export function requestLine(line: string): { method: string; params: Params | undefined } {
  const [, method = "", rest = ""] = /^\s*(\S+)\s*([\s\S]*?)\s*$/.exec(line) ?? [];
  // JSON is taken whole, since its quotes and spaces are its own.
  return { method, params: paramsOfWords(/^[[{]/.test(rest) ? [rest] : wordsOf(rest)) };
}
