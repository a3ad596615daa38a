import { isRecord } from "../protocol/record.ts";
import type { Members } from "./member-path.ts";

/**
 * Joins the parts of a result, for clients that did not ask for them. Arrays are joined, also those that are members
 * of objects, such as the `items` of a completion list.
 */
export function joinedResult(part: unknown, rest: unknown): unknown {
  if (rest === undefined || rest === null) return part;
  if (Array.isArray(part)) {
    if (Array.isArray(rest)) return part.concat(rest);
    const { items } = rest as { readonly items?: unknown };
    return Array.isArray(items) ? { ...(rest as Members), items: part.concat(items) } : rest;
  }
  if (!isRecord(part) || !isRecord(rest)) return rest;
  const joined: Record<string, unknown> = { ...part };
  for (const [name, value] of Object.entries(rest)) {
    joined[name] = typeof value === "object" ? joinedResult(part[name], value) : value;
  }
  return joined;
}
