import type { Id, Params, Request } from "./message.ts";

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
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const longestNumber = 15;
/** In a longer message going through the params letter by letter takes longer than JSON.parse does. */
const longestMessage = 512;

/** Where the last thing that was read ended. One cursor serves all, since reading never waits. */
let end = 0;

/**
 * Reads a short message in one of the two orders in which clients write them, in half the time of
 * JSON.parse: version, method, params, id; or version, id, method, params. JSON.parse makes every
 * envelope anew, here it only sees params and result. Whatever is unusual, such as a space, an
 * escape, another member or an error, gives undefined and goes through JSON.parse, and so does
 * everything that is not JSON.
 *
 * What is read is what JSON.parse would give: each token is checked here or by JSON.parse.
 */
export function canonicalMessage(text: string): Request | ResultMessage | undefined {
  if (text.length > longestMessage) return readLong(text);
  const message = readMessage(text, 0);
  return message !== undefined && end === text.length ? message : undefined;
}

/** The same for a batch; undefined as soon as one message is unusual. */
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
  if (!standsAt(text, nextIdKey, end)) return undefined;
  const id = readId(text, end + nextIdKey.length);
  if (id === undefined || text.charCodeAt(end) !== closeBrace) return undefined;
  end++;
  return { jsonrpc: "2.0", method, params, id };
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
 * A long request, from both of its ends: what stands between them is the params if JSON.parse takes it
 * for one value. So no member can stand twice, and nobody has to look for that.
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

/** A loop over codes, because `startsWith` takes eight times as long. */
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
    // Control characters are not JSON, and the end of the text gives NaN.
    if (c === backslash || !(c >= 0x20)) return undefined;
  }
}

/** A whole number that a double holds, without a sign. */
function readNumber(text: string, start: number): number | undefined {
  let number = 0;
  let at = start;
  let digit = text.charCodeAt(at);
  while (digit >= zero && digit <= nine) {
    number = number * 10 + (digit - zero);
    digit = text.charCodeAt(++at);
  }
  // A point or an exponent would go on; a whole number is followed by one of these.
  if (digit !== comma && digit !== closeBrace && digit !== closeBracket) return undefined;
  const length = at - start;
  if (length === 0 || length > longestNumber) return undefined;
  if (length > 1 && text.charCodeAt(start) === zero) return undefined;
  end = at;
  return number;
}

/** One or two whole numbers are the commonest params of all, and calling JSON.parse for them costs ten times as much. */
function readParams(text: string, start: number): Params | undefined {
  if (text.charCodeAt(start) === openBracket) {
    const first = readNumber(text, start + 1);
    if (first !== undefined) {
      if (closesAt(text, end)) return [first];
      const second = text.charCodeAt(end) === comma ? readNumber(text, end + 1) : undefined;
      if (second !== undefined && closesAt(text, end)) return [first, second];
    }
  }
  return readValue(text, start) as Params | undefined;
}

/** Whether a bracket closes there; the cursor then stands behind it. */
function closesAt(text: string, at: number): boolean {
  if (text.charCodeAt(at) !== closeBracket) return false;
  end = at + 1;
  return true;
}

/** Any value up to where its brackets close; JSON.parse tells whether it is one. */
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

/** Where the closing quote stands. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const c = text.charCodeAt(at);
    if (c === quote) return at;
    at += c === backslash ? 2 : 1;
  }
  return at;
}
