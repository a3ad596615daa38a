import {
  type ErrorObject,
  noTypes,
  type Params,
  type Request,
  type TypedPaths,
} from "./message.ts";
import type { Version } from "./parse.ts";

/** Replies are concatenated: the envelope is known, and JSON.stringify would cost four times as much as the rest. */
export function resultText(version: Version, id: string, result: string): string {
  return version === "2.0"
    ? `{"jsonrpc":"2.0","result":${result},"id":${id}}`
    : `{"result":${result},"error":null,"id":${id}}`;
}

/** Called with what JSON.stringify threw for the data of an error, which is then left out. */
export type DataLost = (thrown: unknown) => void;

/** Without an id the member is left out, for profiles without null ids. */
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

/** A 1.0 error as a string that holds the JSON of the object. */
export function stringErrorText(id: string, error: ErrorObject, lost?: DataLost): string {
  return `{"result":null,"error":${JSON.stringify(errorObjectText(error, lost))},"id":${id}}`;
}

export function errorObjectText(error: ErrorObject, lost?: DataLost): string {
  const data = error.data === undefined ? undefined : dataText(error.data, lost);
  return `{"code":${error.code},"message":${JSON.stringify(error.message)}${
    data === undefined ? "" : `,"data":${data}`
  }}`;
}

/** Data that cannot be serialized is left out, so that code and message still arrive. */
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
  // Values that JSON cannot represent, such as undefined or a function, become null: a result is required.
  return JSON.stringify(value) ?? "null";
}

/** Serializes a result. Also throws for an async iterable, whose items would be lost. */
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

function stringText(text: string): string {
  return isPlain(text) ? `"${text}"` : JSON.stringify(text);
}

/** Whether a string is short and needs no escape in JSON; JSON.stringify costs three times as much to call. */
export function isPlain(text: string): boolean {
  if (text.length > longestPlain) return false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x20 || c > 0x7e || c === 0x22 || c === 0x5c) return false;
  }
  return true;
}

/** Throws what JSON.stringify throws if the params cannot be serialized. */
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
    if (request.baggage !== undefined) text += `,"baggage":${JSON.stringify(request.baggage)}`;
  }
  if (id !== undefined) text += `,"id":${idText(id)}`;
  if (request.upload) text += ',"upload":true';
  const { types } = request;
  // With the bracket, since each concatenation counts in a short message.
  if (types === noTypes) return `${text},"types":{}}`;
  if (types !== undefined) text += `,"types":${JSON.stringify(types)}`;
  return `${text}}`;
}

/** A message with the types of its rich values. */
export function typedText(text: string, types: TypedPaths): string {
  return `${text.slice(0, -1)},"types":${JSON.stringify(types)}}`;
}

/** A request for a stream, on a wire over which the reader can grant more credit later. */
export function creditedText(text: string, credit: number): string {
  return `${text.slice(0, -1)},"credit":${credit}}`;
}

function version1Text(method: string, params: Params | undefined, id: unknown): string {
  return `{"method":${stringText(method)},"params":${JSON.stringify(params ?? [])},"id":${
    id === undefined ? "null" : idText(id)
  }}`;
}

/** Refuses an async iterable, which would be serialized as `{}` and lose its items. */
export function refuseItems(result: unknown): void {
  if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result)) return;
  throw new TypeError("the result is an async iterable; define the method with stream()");
}
