import { after, type Form, formAt, standsAt } from "./canonical-form.ts";
import { type Id, noTypes, type Params, type Request } from "./message.ts";
import { partStandsAt } from "./recent-method.ts";

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
const longestKey = 64;
const anyLength = 2 ** 30;
/** Above this length, a scan for the end of the params takes longer than JSON.parse of the message. */
const longestScanned = 512;

/** End of the last token. One cursor serves all calls, because reading is synchronous. */
let end = 0;

/**
 * Reads a message in one of the two orders that clients write: version, method, params, id; or version, id, method,
 * params. A notification has no id. It takes half the time of JSON.parse, which is called for params and result only.
 * Anything unusual (an escape, another member, an error, a space where there usually is none) returns undefined and goes
 * through JSON.parse, as does anything that is not JSON.
 *
 * The outcome is what JSON.parse would return: each token is checked here or by JSON.parse. No member can occur twice.
 */
export function canonicalMessage(text: string): Request | ResultMessage | undefined {
  const message = readMessage(text, 0, formAt(text, 0));
  return message !== undefined && end === text.length ? message : undefined;
}

/** The same for a batch; undefined if any message is unusual. */
export function canonicalBatch(
  text: string,
  maxBatch: number,
): (Request | ResultMessage)[] | undefined {
  const messages: (Request | ResultMessage)[] = [];
  const form = formAt(text, 1);
  let start = 1;
  do {
    const message = messages.length > maxBatch ? undefined : readMessage(text, start, form);
    if (message === undefined) return undefined;
    messages.push(message);
    start = after(text, end, form);
  } while (text.charCodeAt(end) === comma);
  return text.charCodeAt(end) === closeBracket && end + 1 === text.length ? messages : undefined;
}

function readMessage(text: string, start: number, form: Form): Request | ResultMessage | undefined {
  const { recent } = form;
  if (partStandsAt(text, recent.opening, start)) {
    const params = readParams(text, start + recent.opening.length, form);
    return params && endRequest(text, recent.method, params, form);
  }
  if (!standsAt(text, form.opening, start)) return undefined;
  const at = start + form.opening.length;
  switch (text.charCodeAt(at)) {
    case 0x6d:
      return standsAt(text, form.methodKey, at)
        ? readMethodFirst(text, at + form.methodKey.length, form)
        : undefined;
    case 0x69:
      return standsAt(text, form.idKey, at)
        ? readIdFirst(text, at + form.idKey.length, form)
        : undefined;
    case 0x72:
      return standsAt(text, form.resultKey, at)
        ? readResult(text, at + form.resultKey.length, form)
        : undefined;
    default:
      return undefined;
  }
}

function readMethodFirst(text: string, start: number, form: Form): Request | undefined {
  const method = readString(text, start);
  if (method === undefined) return undefined;
  let params: Params | undefined;
  if (standsAt(text, form.nextParamsKey, end)) {
    form.recent.missed(method);
    params = readParams(text, end + form.nextParamsKey.length, form);
    if (params === undefined) return undefined;
  }
  return endRequest(text, method, params, form);
}

/** What follows the method and the params in a message with the method first. */
function endRequest(
  text: string,
  method: string,
  params: Params | undefined,
  form: Form,
): Request | undefined {
  let id: Id | undefined;
  // A notification has no id.
  if (standsAt(text, form.nextIdKey, end)) {
    id = readId(text, end + form.nextIdKey.length);
    if (id === undefined) return undefined;
  }
  if (text.charCodeAt(end) === closeBrace) {
    end++;
    return { jsonrpc: "2.0", method, params, id };
  }
  // A loop over so many char codes takes longer.
  const typesTo = end + form.emptyTypes.length;
  if (text.slice(end, typesTo) !== form.emptyTypes) return undefined;
  end = typesTo;
  return { jsonrpc: "2.0", method, params, id, types: noTypes };
}

function readIdFirst(text: string, start: number, form: Form): Request | undefined {
  const id = readId(text, start);
  if (id === undefined) return undefined;
  const { recent } = form;
  let method: string | undefined;
  let params: Params | undefined;
  if (partStandsAt(text, recent.middle, end)) {
    method = recent.method;
    params = readParams(text, end + recent.middle.length, form);
    if (params === undefined) return undefined;
  } else {
    if (!standsAt(text, form.nextMethodKey, end)) return undefined;
    method = readString(text, end + form.nextMethodKey.length);
    if (method === undefined) return undefined;
    if (standsAt(text, form.nextParamsKey, end)) {
      recent.missed(method);
      params = readParams(text, end + form.nextParamsKey.length, form);
      if (params === undefined) return undefined;
    }
  }
  if (text.charCodeAt(end) !== closeBrace) return undefined;
  end++;
  return { jsonrpc: "2.0", method, params, id };
}

function readResult(text: string, start: number, form: Form): ResultMessage | undefined {
  if (text.length > longestScanned && text.charCodeAt(0) === openBrace) return undefined;
  const result = readNumber(text, start) ?? readValue(text, start);
  if (result === undefined || !standsAt(text, form.nextIdKey, end)) return undefined;
  const id = readId(text, end + form.nextIdKey.length);
  if (id === undefined || text.charCodeAt(end) !== closeBrace) return undefined;
  end++;
  return { jsonrpc: "2.0", result, id };
}

/** JSON that ends with a closing bracket is an object or an array. */
function parsedBetween(text: string, from: number, to: number): Params | undefined {
  try {
    return JSON.parse(text.slice(from, to));
  } catch {
    return undefined;
  }
}

function readId(text: string, start: number): Id | undefined {
  return text.charCodeAt(start) === quote ? readString(text, start) : readNumber(text, start);
}

/** A string without escapes. */
function readString(text: string, start: number, longest = anyLength): string | undefined {
  if (text.charCodeAt(start) !== quote) return undefined;
  for (let at = start + 1; at - start <= longest + 1; at++) {
    const c = text.charCodeAt(at);
    if (c === quote) {
      end = at + 1;
      return text.slice(start + 1, at);
    }
    // Control characters are not valid JSON, and the end of the string gives NaN.
    if (c === backslash || !(c >= 0x20)) return undefined;
  }
  return undefined;
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

function readParams(text: string, start: number, form: Form): Params | undefined {
  const params =
    (endsNested(text)
      ? undefined
      : (readNumbers(text, start, form) ?? readFlat(text, start, form))) ??
    readNested(text, start, form);
  if (params !== undefined || text.length > longestScanned) return params;
  return readValue(text, start) as Params | undefined;
}

/** Whether the params at the end of a message certainly have objects or arrays in them. */
function endsNested(text: string): boolean {
  return isClosing(text.charCodeAt(text.length - 3)) && text.charCodeAt(0) === openBrace;
}

/** One or two integers are the most common params, and JSON.parse costs ten times as much for them. */
function readNumbers(text: string, start: number, form: Form): Params | undefined {
  if (text.charCodeAt(start) !== openBracket) return undefined;
  const first = readNumber(text, start + 1);
  if (first === undefined) return undefined;
  if (closesAt(text, end)) return [first];
  if (text.charCodeAt(end) !== comma) return undefined;
  const second = readNumber(text, after(text, end, form));
  return second !== undefined && closesAt(text, end) ? [first, second] : undefined;
}

/** An object of integers and short strings, which takes a third of the time of JSON.parse. */
function readFlat(text: string, start: number, form: Form): Params | undefined {
  if (text.charCodeAt(start) !== openBrace) return undefined;
  const object: Record<string, unknown> = {};
  let at = start + 1;
  for (;;) {
    const key = readString(text, at, longestKey);
    // JSON.parse makes a member of this name; an assignment would set the prototype.
    if (key === undefined || key === "__proto__" || text.charCodeAt(end) !== colon) {
      return undefined;
    }
    at = after(text, end, form);
    const value =
      text.charCodeAt(at) === quote ? readString(text, at, longestCopy) : readNumber(text, at);
    if (value === undefined) return undefined;
    object[key] = value;
    if (text.charCodeAt(end) !== comma) break;
    at = after(text, end, form);
  }
  if (text.charCodeAt(end) !== closeBrace) return undefined;
  end++;
  return object;
}

/**
 * Params with objects or arrays in them. They end before the id, or with the message if a bracket stands before its end.
 * JSON.parse refuses what is not one value, and takes half the time of a scan for their end.
 */
function readNested(text: string, start: number, form: Form): Params | undefined {
  const isBatch = text.charCodeAt(0) === openBracket;
  const next = isBatch ? text.indexOf(form.nextMessage, start) : -1;
  const last = next === -1 ? text.length - (isBatch ? 1 : 0) : next;
  const typesAt = last - form.emptyTypes.length;
  const hasTypes =
    text.charCodeAt(typesAt) === comma && text.slice(typesAt, last) === form.emptyTypes;
  const close = hasTypes ? typesAt : last - 1;
  const to = isClosing(text.charCodeAt(close - 1))
    ? close
    : isBatch
      ? start + text.slice(start, close).lastIndexOf(form.nextId)
      : text.lastIndexOf(form.nextId);
  if (!isClosing(text.charCodeAt(to - 1))) return undefined;
  const params = parsedBetween(text, start, to);
  if (params !== undefined) end = to;
  return params;
}

function isClosing(code: number): boolean {
  return code === closeBrace || code === closeBracket;
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
