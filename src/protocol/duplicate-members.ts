import { duplicateMember } from "./envelope.ts";
import { skipSpace, valueEnd } from "./json-scan.ts";

/** With more members, searching for each takes longer than scanning the JSON. */
const fewMembers = 12;

/**
 * Marks messages in which a member occurs twice. Parsers differ in which of the two counts, so that one program could
 * check one value and another program run the other.
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

/** Replies are not checked: the caller knows what it expects. */
function isCall(value: unknown): value is object {
  return typeof value === "object" && value !== null && "method" in value;
}

function marked(message: object, member: string | undefined): object {
  if (member === undefined) return message;
  const copy = { ...message, jsonrpc: duplicateMember };
  // Neither of two ids can be trusted to be the caller's.
  return member === "id" ? { ...copy, id: null } : copy;
}

/** Whether a plain search shows that every member occurs once, as it nearly always does. */
function standsOnce(message: object, text: string): boolean {
  // A name may be escaped, which only the scan decodes.
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

/** The usual members, as they are searched for. */
const usual: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  jsonrpc: '"jsonrpc"',
  method: '"method"',
  params: '"params"',
  id: '"id"',
});

/** The first member that occurs twice in the object at `start`; a duplicate id takes precedence. */
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
