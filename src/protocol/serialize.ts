import { noTypes, type Params, type Request } from "./message.ts";

export function idText(id: unknown): string {
  if (typeof id === "number") return `${id}`;
  return typeof id === "string" ? stringText(id) : JSON.stringify(id);
}

const longestPlain = 64;

/** A string as JSON. */
export function stringText(text: string): string {
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

/** A request for a stream, on a wire over which the reader can grant more credit later. */
export function creditedText(text: string, credit: number): string {
  return `${text.slice(0, -1)},"credit":${credit}}`;
}

function version1Text(method: string, params: Params | undefined, id: unknown): string {
  return `{"method":${stringText(method)},"params":${JSON.stringify(params ?? [])},"id":${
    id === undefined ? "null" : idText(id)
  }}`;
}
