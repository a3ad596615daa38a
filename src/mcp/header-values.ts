import type { JsonSchema } from "../openrpc/json-schema.ts";

/** Which requests name what they are about in the header `Mcp-Name`, and by which of their params. */
export const namedBy: ReadonlyMap<string, "name" | "uri" | "taskId"> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;
const looksEncoded = /^=\?base64\?.*\?=$/;
/** Visible ASCII with spaces inside. */
const plain = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/;

/** From the first to the last that is no space. To look for those at the end instead would begin anew at each within. */
const inside = /[^ \t](?:.*[^ \t])?/s;

/** A value as a header carries it; what a header cannot hold is written in base64. */
export function headerValue(value: string | number | boolean): string {
  const written = String(value);
  if (plain.test(written) && !looksEncoded.test(written)) return written;
  const bytes = new TextEncoder().encode(written);
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}?=`;
}

/** Reads it again; undefined where it is not well-formed. */
export function readHeaderValue(header: string): string | undefined {
  const [trimmed = ""] = inside.exec(header) ?? [];
  if (!looksEncoded.test(trimmed)) return plain.test(trimmed) ? trimmed : undefined;
  const [, base64] = encoded.exec(trimmed) ?? [];
  if (base64 === undefined || base64.length % 4 !== 0) return undefined;
  try {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** A param of a tool that travels as a header too. */
export interface ParamHeader {
  /** In lower case, with its prefix `mcp-param-`. */
  readonly header: string;
  /** Where its value is in the arguments. */
  readonly path: readonly string[];
}

const token = /^[\w!#$%&'*+.^`|~-]+$/;

/** The annotated params of an input schema; throws a sentence where an annotation breaks a rule. */
export function paramHeaders(inputSchema: JsonSchema): readonly ParamHeader[] {
  const found: ParamHeader[] = [];
  const seen = new Set<string>();
  const visit = (schema: unknown, path: readonly string[] | undefined, depth: number): void => {
    if (typeof schema !== "object" || schema === null || depth > 64) return;
    const { "x-mcp-header": name, type } = schema as { "x-mcp-header"?: unknown; type?: unknown };
    if (name !== undefined) {
      if (typeof name !== "string" || !token.test(name)) {
        throw new TypeError("x-mcp-header must be a token of HTTP");
      }
      if (path === undefined || path.length === 0) {
        throw new TypeError(`x-mcp-header "${name}" must stand on a plain property`);
      }
      if (type !== "string" && type !== "integer" && type !== "boolean") {
        throw new TypeError(`x-mcp-header "${name}" must stand on a string, integer or boolean`);
      }
      const header = `mcp-param-${name.toLowerCase()}`;
      if (seen.has(header)) throw new TypeError(`x-mcp-header "${name}" stands twice`);
      seen.add(header);
      found.push({ header, path });
    }
    for (const [keyword, member] of Object.entries(schema)) {
      if (keyword === "properties" && typeof member === "object" && member !== null) {
        for (const [property, inner] of Object.entries(member)) {
          visit(inner, path === undefined ? undefined : [...path, property], depth + 1);
        }
      } else if (Array.isArray(member)) {
        for (const each of member) visit(each, undefined, depth + 1);
      } else if (keyword !== "default" && keyword !== "const" && keyword !== "examples") {
        visit(member, undefined, depth + 1);
      }
    }
  };
  visit(inputSchema, [], 0);
  return found;
}

/** The value at a path of the arguments, where it is one that a header can carry. */
export function paramAt(
  params: unknown,
  path: readonly string[],
): string | number | boolean | undefined {
  let place = params;
  for (const key of path) {
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, key)) return undefined;
    place = (place as Record<string, unknown>)[key];
  }
  return typeof place === "string" || typeof place === "number" || typeof place === "boolean"
    ? place
    : undefined;
}
