import { skipSpace, valueEnd } from "./json-text.ts";

/** Stands in place of the version of a message in which a member stands twice. */
export const duplicateMember: unique symbol = Symbol("duplicateMember");

/** With more members than this, looking each of them up would take longer than walking the text. */
const fewMembers = 12;

/**
 * A parsed payload, in which messages with a member that stands twice are marked. Parsers differ in
 * which of the two counts, so that what one end checked may not be what another end runs.
 */
export function markDuplicates(payload: unknown, text: string, maxBatch: number): unknown {
  if (!Array.isArray(payload)) {
    if (!isCall(payload) || standsOnce(payload, text)) return payload;
    return marked(payload, duplicateOf(text, skipSpace(text, 0)));
  }
  if (payload.length > maxBatch || !payload.some(isCall)) return payload;
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  return payload.map((entry: unknown) => {
    const start = at;
    at = skipSpace(text, skipSpace(text, valueEnd(text, at)) + 1);
    return isCall(entry) ? marked(entry, duplicateOf(text, start)) : entry;
  });
}

/** Replies are left alone: who called knows what it may expect. */
function isCall(value: unknown): value is object {
  return typeof value === "object" && value !== null && "method" in value;
}

function marked(message: object, member: string | undefined): object {
  if (member === undefined) return message;
  const copy = { ...message, jsonrpc: duplicateMember };
  // Of two ids neither can be trusted to be the caller's.
  return member === "id" ? { ...copy, id: null } : copy;
}

/** Whether a search alone shows that no member stands twice, as it nearly always does. */
function standsOnce(message: object, text: string): boolean {
  // A name may be written with escapes, which only the walk reads.
  if (text.includes("\\u")) return false;
  let members = 0;
  for (const name in message) {
    const quoted = usual[name] ?? `"${name}"`;
    const first = text.indexOf(quoted);
    if (first === -1 || text.indexOf(quoted, first + quoted.length) !== -1) return false;
    if (++members > fewMembers) return false;
  }
  return true;
}

/** The members that nearly every message has, as they are looked for. */
const usual: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  jsonrpc: '"jsonrpc"',
  method: '"method"',
  params: '"params"',
  id: '"id"',
});

/** The first member that stands twice in the object at `start`; an id that does so comes before all others. */
function duplicateOf(text: string, start: number): string | undefined {
  const names = new Set<string>();
  let found: string | undefined;
  let at = skipSpace(text, start + 1);
  while (text[at] !== "}") {
    const keyEnd = valueEnd(text, at);
    const name = JSON.parse(text.slice(at, keyEnd)) as string;
    if (names.has(name) && (found === undefined || name === "id")) found = name;
    names.add(name);
    at = skipSpace(text, valueEnd(text, skipSpace(text, skipSpace(text, keyEnd) + 1)));
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return found;
}
