import { type Id, noTypes, type Params, type Request } from "./message.ts";

/** A response with a result. */
export interface ResultMessage {
  readonly jsonrpc: "2.0";
  readonly result: unknown;
  readonly id: Id | undefined;
}

const quote = 0x22;
const comma = 0x2c;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const longestNumber = 15;
/** V8 copies a slice that is shorter than this; a longer one would keep the whole text in memory. */
const longestCopy = 12;
/** Above this length, scanning the params takes longer than JSON.parse. */
const longestMessage = 512;

/** End of the last token. One cursor serves all calls, because reading is synchronous. */
let end = 0;

/**
 * Reads a short message in one of the two orders that clients write: version, method, params, id; or version, id,
 * method, params. A notification has no id. It takes half the time of JSON.parse, which is called for params and result only. Anything unusual
 * (a space, an escape, another member, an error) returns undefined and goes through JSON.parse, as does anything that
 * is not JSON.
 *
 * The outcome is what JSON.parse would return: each token is checked here or by JSON.parse.
 */
export function canonicalMessage(text: string): Request | ResultMessage | undefined {
  if (text.length > longestMessage) return readLong(text);
  const message = readMessage(text, 0);
  return message !== undefined && end === text.length ? message : undefined;
}

/** The same for a batch; undefined if any message is unusual. */
export function canonicalBatch(
  text: string,
  maxBatch: number,
): (Request | ResultMessage)[] | undefined {
  const messages: (Request | ResultMessage)[] = [];
  end = 0;
  do {
    const message = messages.length > maxBatch ? undefined : readMessage(text, end + 1);
    if (message === undefined) return undefined;
    messages.push(message);
  } while (text.charCodeAt(end) === comma);
  return text.charCodeAt(end) === closeBracket && end + 1 === text.length ? messages : undefined;
}

const opening = codesOf('{"jsonrpc":"2.0","');
const methodKey = codesOf('method":');
const idKey = codesOf('id":');
const resultKey = codesOf('result":');
const nextMethodKey = codesOf(',"method":');
const nextParamsKey = codesOf(',"params":');
const nextIdKey = codesOf(',"id":');
/** Written by clients that accept rich values, if the params have none. */
const emptyTypes = codesOf(',"types":{}}');

function codesOf(part: string): readonly number[] {
  return Array.from(part, (character) => character.charCodeAt(0));
}

function readMessage(text: string, start: number): Request | ResultMessage | undefined {
  if (!standsAt(text, opening, start)) return undefined;
  const at = start + opening.length;
  switch (text.charCodeAt(at)) {
    case 0x6d:
      return standsAt(text, methodKey, at)
        ? readMethodFirst(text, at + methodKey.length)
        : undefined;
    case 0x69:
      return standsAt(text, idKey, at) ? readIdFirst(text, at + idKey.length) : undefined;
    case 0x72:
      return standsAt(text, resultKey, at) ? readResult(text, at + resultKey.length) : undefined;
    default:
      return undefined;
  }
}

function readMethodFirst(text: string, start: number): Request | undefined {
  const method = readString(text, start);
  if (method === undefined) return undefined;
  let params: Params | undefined;
  if (standsAt(text, nextParamsKey, end)) {
    params = readParams(text, end + nextParamsKey.length);
    if (params === undefined) return undefined;
  }
  let id: Id | undefined;
  // A notification has no id.
  if (standsAt(text, nextIdKey, end)) {
    id = readId(text, end + nextIdKey.length);
    if (id === undefined) return undefined;
  }
  if (text.charCodeAt(end) === closeBrace) {
    end++;
    return { jsonrpc: "2.0", method, params, id };
  }
  if (!standsAt(text, emptyTypes, end)) return undefined;
  end += emptyTypes.length;
  return { jsonrpc: "2.0", method, params, id, types: noTypes };
}

function readIdFirst(text: string, start: number): Request | undefined {
  const id = readId(text, start);
  if (id === undefined || !standsAt(text, nextMethodKey, end)) return undefined;
  const method = readString(text, end + nextMethodKey.length);
  if (method === undefined) return undefined;
  let params: Params | undefined;
  if (standsAt(text, nextParamsKey, end)) {
    params = readParams(text, end + nextParamsKey.length);
    if (params === undefined) return undefined;
  }
  if (text.charCodeAt(end) !== closeBrace) return undefined;
  end++;
  return { jsonrpc: "2.0", method, params, id };
}

function readResult(text: string, start: number): ResultMessage | undefined {
  const result = readNumber(text, start) ?? readValue(text, start);
  if (result === undefined || !standsAt(text, nextIdKey, end)) return undefined;
  const id = readId(text, end + nextIdKey.length);
  if (id === undefined || text.charCodeAt(end) !== closeBrace) return undefined;
  end++;
  return { jsonrpc: "2.0", result, id };
}

/**
 * Reads a long request from its start and its end: what is between must be the params, if JSON.parse reads it as one value.
 * So no member can occur twice, and no check for that is needed.
 */
function readLong(text: string): Request | undefined {
  if (!standsAt(text, opening, 0) || text.charCodeAt(text.length - 1) !== closeBrace) {
    return undefined;
  }
  const start = opening.length;
  let id: Id | undefined;
  let last = text.length - 1;
  if (standsAt(text, idKey, start)) {
    id = readId(text, start + idKey.length);
    if (id === undefined || !standsAt(text, nextMethodKey, end)) return undefined;
    end += nextMethodKey.length;
  } else {
    if (!standsAt(text, methodKey, start)) return undefined;
    last = text.lastIndexOf(',"id":');
    if (last === -1) return undefined;
    id = readId(text, last + nextIdKey.length);
    if (id === undefined || end !== text.length - 1) return undefined;
    end = start + methodKey.length;
  }
  const method = readString(text, end);
  if (method === undefined || !standsAt(text, nextParamsKey, end)) return undefined;
  const from = end + nextParamsKey.length;
  if (from > last) return undefined;
  const params = parsedBetween(text, from, last);
  return params === undefined ? undefined : { jsonrpc: "2.0", method, params, id };
}

function parsedBetween(text: string, from: number, to: number): Params | undefined {
  try {
    const value: unknown = JSON.parse(text.slice(from, to));
    return typeof value === "object" && value !== null ? (value as Params) : undefined;
  } catch {
    return undefined;
  }
}

/** A loop over char codes, because `startsWith` takes eight times as long. */
function standsAt(text: string, part: readonly number[], at: number): boolean {
  for (let i = 0; i < part.length; i++) {
    if (text.charCodeAt(at + i) !== part[i]) return false;
  }
  return true;
}

function readId(text: string, start: number): Id | undefined {
  return text.charCodeAt(start) === quote ? readString(text, start) : readNumber(text, start);
}

/** A string without escapes. */
function readString(text: string, start: number): string | undefined {
  if (text.charCodeAt(start) !== quote) return undefined;
  for (let at = start + 1; ; at++) {
    const c = text.charCodeAt(at);
    if (c === quote) {
      end = at + 1;
      return text.slice(start + 1, at);
    }
    // Control characters are not valid JSON, and the end of the string gives NaN.
    if (c === backslash || !(c >= 0x20)) return undefined;
  }
}

/** An unsigned integer that a double holds exactly. */
function readNumber(text: string, start: number): number | undefined {
  let number = 0;
  let at = start;
  let digit = text.charCodeAt(at);
  while (digit >= zero && digit <= nine) {
    number = number * 10 + (digit - zero);
    digit = text.charCodeAt(++at);
  }
  // A fraction or an exponent would follow; an integer ends with one of these.
  if (digit !== comma && digit !== closeBrace && digit !== closeBracket) return undefined;
  const length = at - start;
  if (length === 0 || length > longestNumber) return undefined;
  if (length > 1 && text.charCodeAt(start) === zero) return undefined;
  end = at;
  return number;
}

/** One or two integers are the most common params, and JSON.parse costs ten times as much for them. */
function readParams(text: string, start: number): Params | undefined {
  if (text.charCodeAt(start) === openBracket) {
    const first = readNumber(text, start + 1);
    if (first !== undefined) {
      if (closesAt(text, end)) return [first];
      const second = text.charCodeAt(end) === comma ? readNumber(text, end + 1) : undefined;
      if (second !== undefined && closesAt(text, end)) return [first, second];
    }
  }
  return (
    readLastNested(text, start) ??
    readFlat(text, start) ??
    (readValue(text, start) as Params | undefined)
  );
}

/**
 * Params with objects or arrays in them that end the message, which is likely if it ends with three brackets: an id has
 * none. JSON.parse then finds their end itself, in half the time of a scan, and refuses what is not one value.
 */
function readLastNested(text: string, start: number): Params | undefined {
  const last = text.length - 1;
  if (text.charCodeAt(last) !== closeBrace) return undefined;
  if (!isClosing(text.charCodeAt(last - 1)) || !isClosing(text.charCodeAt(last - 2))) {
    return undefined;
  }
  const params = parsedBetween(text, start, last);
  if (params !== undefined) end = last;
  return params;
}

function isClosing(code: number): boolean {
  return code === closeBrace || code === closeBracket;
}

/** An object of integers and short strings, which takes a third of the time of JSON.parse. */
function readFlat(text: string, start: number): Params | undefined {
  if (text.charCodeAt(start) !== openBrace) return undefined;
  const object: Record<string, unknown> = {};
  end = start;
  do {
    const key = readString(text, end + 1);
    // JSON.parse makes a member of this name; an assignment would set the prototype.
    if (key === undefined || key === "__proto__" || text.charCodeAt(end) !== colon) {
      return undefined;
    }
    const value = readId(text, end + 1);
    if (value === undefined) return undefined;
    if (typeof value === "string" && value.length > longestCopy) return undefined;
    object[key] = value;
  } while (text.charCodeAt(end) === comma);
  if (text.charCodeAt(end) !== closeBrace) return undefined;
  end++;
  return object;
}

/** Whether a bracket closes at `at`; then moves the cursor behind it. */
function closesAt(text: string, at: number): boolean {
  if (text.charCodeAt(at) !== closeBracket) return false;
  end = at + 1;
  return true;
}

/** Reads any value up to its closing bracket; JSON.parse checks it. */
function readValue(text: string, start: number): unknown {
  let depth = 0;
  let at = start;
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === quote) {
      at = stringEnd(text, at);
    } else if (c === openBrace || c === openBracket) {
      depth++;
    } else if (c === closeBrace || c === closeBracket) {
      if (depth === 0) break;
      depth--;
    } else if (c === comma && depth === 0) {
      break;
    }
  }
  end = at;
  try {
    return JSON.parse(text.slice(start, at));
  } catch {
    return undefined;
  }
}

/** Index of the closing quote. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const c = text.charCodeAt(at);
    if (c === quote) return at;
    at += c === backslash ? 2 : 1;
  }
  return at;
}
