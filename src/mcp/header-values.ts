import type { JsonSchema } from "../openrpc/json-schema.ts";
import { base64, fromBase64 } from "../protocol/base64.ts";

/** Requests with the header `Mcp-Name`, and the param that it repeats. */
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

/** The string without spaces around it; a pattern for trailing spaces would take quadratic time. */
const inside = /[^ \t](?:.*[^ \t])?/s;

/** Encodes a value for a header, in base64 if a header cannot hold it as it is. */
export function headerValue(value: string | number | boolean): string {
  const written = String(value);
  if (plain.test(written) && !looksEncoded.test(written)) return written;
  return `=?base64?${base64(new TextEncoder().encode(written))}?=`;
}

/** Decodes a header; undefined if it is malformed. */
export function readHeaderValue(header: string): string | undefined {
  const [trimmed = ""] = inside.exec(header) ?? [];
  if (!looksEncoded.test(trimmed)) return plain.test(trimmed) ? trimmed : undefined;
  const [, payload] = encoded.exec(trimmed) ?? [];
  if (payload === undefined || payload.length % 4 !== 0) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(fromBase64(payload));
  } catch {
    return undefined;
  }
}

/** An argument of a tool that is also sent as a header. */
export interface ParamHeader {
  /** In lower case, with its prefix `mcp-param-`. */
  readonly header: string;
  /** The path of its value in the arguments. */
  readonly path: readonly string[];
}

const token = /^[\w!#$%&'*+.^`|~-]+$/;

/** The params of an input schema with `x-mcp-header`; throws a TypeError for an invalid annotation. */
export function paramHeaders(inputSchema: JsonSchema): readonly ParamHeader[] {
  const found: ParamHeader[] = [];
  const seen = new Set<string>();
  const visit = (schema: unknown, path: readonly string[] | undefined, depth: number): void => {
    if (typeof schema !== "object" || schema === null || depth > 64) return;
    const { "x-mcp-header": name, type } = schema as { "x-mcp-header"?: unknown; type?: unknown };
    if (name !== undefined) {
      if (typeof name !== "string" || !token.test(name)) {
        throw new TypeError("x-mcp-header must be an HTTP token");
      }
      if (path === undefined || path.length === 0) {
        throw new TypeError(
          `x-mcp-header "${name}" must be on a plain property, not inside of an array or a combined schema`,
        );
      }
      if (type !== "string" && type !== "integer" && type !== "boolean") {
        throw new TypeError(`x-mcp-header "${name}" must be on a string, integer or boolean`);
      }
      const header = `mcp-param-${name.toLowerCase()}`;
      if (seen.has(header)) throw new TypeError(`x-mcp-header "${name}" is used twice`);
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

/** The value at a path of the arguments; undefined if a header cannot carry it. */
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
