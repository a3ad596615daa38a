import type { Id, Request } from "./message.ts";

/** V8 copies substrings up to this length; longer ones refer to the whole string. */
const longestCopied = 12;
/** Callers choose the names, so the number and length of cached ones are limited. */
const mostNames = 1_000;
const longestName = 128;
const names = new Map<string, string>();

/** A copy that does not keep alive the message from which the string was cut. */
export function copyString(text: string): string {
  return text.length <= longestCopied ? text : (JSON.parse(JSON.stringify(text)) as string);
}

export function copyId(id: Id): Id {
  return typeof id === "string" ? copyString(id) : id;
}

/**
 * Detaches an asynchronous call from the chunk that brought it, which may be a thousand times as large. Returns the
 * JSON of its id.
 */
export function detachRequest(request: Request, idText: string | undefined): string | undefined {
  const own = request as { method: string; id?: Id | undefined };
  if (own.method.length > longestCopied) own.method = copyName(own.method);
  if (idText === undefined || idText.length <= longestCopied) return idText;
  if (typeof own.id !== "string") return copyString(idText);
  const written = JSON.stringify(own.id);
  const isPlain = written.length === own.id.length + 2;
  own.id = isPlain ? written.slice(1, -1) : (JSON.parse(written) as string);
  return written;
}

/** Methods are few and called often, so a lookup costs less than a copy. */
function copyName(name: string): string {
  const known = names.get(name);
  if (known !== undefined) return known;
  const own = copyString(name);
  if (own.length > longestName) return own;
  if (names.size >= mostNames) names.clear();
  names.set(own, own);
  return own;
}
