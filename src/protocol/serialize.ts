import type { ErrorObject, Params, Request } from "./message.ts";
import type { Version } from "./parse.ts";

/**
 * Replies are concatenated: the envelope is known, and putting it through JSON.stringify
 * costs four times as much as the rest.
 */
export function resultText(version: Version, id: string, result: string): string {
  return version === "2.0"
    ? `{"jsonrpc":"2.0","result":${result},"id":${id}}`
    : `{"result":${result},"error":null,"id":${id}}`;
}

/** Hears what JSON.stringify threw for data of an error, which is then left out. */
export type DataLost = (thrown: unknown) => void;

/** Without an id the member is left out, as profiles have it that know no null. */
export function errorText(
  version: Version,
  id: string | undefined,
  error: ErrorObject,
  lost?: DataLost,
): string {
  const object = errorObjectText(error, lost);
  if (id === undefined) return `{"jsonrpc":"2.0","error":${object}}`;
  return version === "2.0"
    ? `{"jsonrpc":"2.0","error":${object},"id":${id}}`
    : `{"result":null,"error":${object},"id":${id}}`;
}

export function errorObjectText(error: ErrorObject, lost?: DataLost): string {
  const data = error.data === undefined ? undefined : dataText(error.data, lost);
  return `{"code":${error.code},"message":${JSON.stringify(error.message)}${
    data === undefined ? "" : `,"data":${data}`
  }}`;
}

/** Data that cannot be written is left out: the code and message must arrive all the same. */
function dataText(data: unknown, lost: DataLost | undefined): string | undefined {
  try {
    return JSON.stringify(data);
  } catch (thrown) {
    lost?.(thrown);
    return undefined;
  }
}

/** Throws what JSON.stringify throws: for a BigInt, a cycle, or nesting that overflows the stack. */
export function valueText(value: unknown): string {
  if (typeof value === "number") return Number.isFinite(value) ? `${value}` : "null";
  if (typeof value === "string") return stringText(value);
  // What JSON has no word for, such as undefined or a function, becomes null: a result is required.
  return JSON.stringify(value) ?? "null";
}

/** The text of what a method came to. Throws also where its items would be lost. */
export function returnedText(result: unknown): string {
  const text = valueText(result);
  if (text === "{}") refuseItems(result);
  return text;
}

export function idText(id: unknown): string {
  if (typeof id === "number") return `${id}`;
  return typeof id === "string" ? stringText(id) : JSON.stringify(id);
}

const longestPlain = 64;

/** Short texts of plain characters need no JSON.stringify, which costs three times as much to call. */
function stringText(text: string): string {
  if (text.length > longestPlain) return JSON.stringify(text);
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x20 || c > 0x7e || c === 0x22 || c === 0x5c) return JSON.stringify(text);
  }
  return `"${text}"`;
}

/** Throws what JSON.stringify throws when the params cannot be written. */
export function requestText(request: Request): string {
  const { method, params, id } = request;
  if (request.jsonrpc === undefined) return version1Text(method, params, id);
  let text = `{"jsonrpc":"2.0","method":${stringText(method)}`;
  if (params !== undefined) text += `,"params":${JSON.stringify(params)}`;
  if (request.timeoutMs !== undefined) text += `,"timeoutMs":${request.timeoutMs}`;
  if (request.traceparent !== undefined) {
    text += `,"traceparent":${JSON.stringify(request.traceparent)}`;
    if (request.tracestate !== undefined) {
      text += `,"tracestate":${JSON.stringify(request.tracestate)}`;
    }
  }
  if (id !== undefined) text += `,"id":${idText(id)}`;
  return `${text}}`;
}

/** The text of a request for a stream, on a wire over which its reader gives credit later on. */
export function creditedText(text: string, credit: number): string {
  return `${text.slice(0, -1)},"credit":${credit}}`;
}

function version1Text(method: string, params: Params | undefined, id: unknown): string {
  return `{"method":${stringText(method)},"params":${JSON.stringify(params ?? [])},"id":${
    id === undefined ? "null" : idText(id)
  }}`;
}

/** An async iterable is no result: as JSON it has no members, and its items would be lost without a word. */
export function refuseItems(result: unknown): void {
  if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result)) return;
  throw new TypeError("the result is an async iterable; define the method with stream()");
}
