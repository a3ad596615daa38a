import type { Id, Request } from "./message.ts";

/** V8 copies parts of a string up to this length; longer ones refer to the whole. */
const longestCopied = 12;
/** Anybody can make up names, so that only so many are kept, and none that is long. */
const mostNames = 1_000;
const longestName = 128;
const names = new Map<string, string>();

/** The same text with memory of its own: a name that is kept may hold on to the whole message that it is a part of. */
export function copyString(text: string): string {
  return text.length <= longestCopied ? text : (JSON.parse(JSON.stringify(text)) as string);
}

export function copyId(id: Id): Id {
  return typeof id === "string" ? copyString(id) : id;
}

/**
 * A call that takes its time must not hold on to all that came in one chunk with it, which may be a thousand times as much.
 * Gives the text of its id.
 */
export function detach(request: Request, idText: string | undefined): string | undefined {
  const own = request as { method: string; id?: Id | undefined };
  if (own.method.length > longestCopied) own.method = ownName(own.method);
  if (idText === undefined || idText.length <= longestCopied) return idText;
  if (typeof own.id !== "string") return copyString(idText);
  const written = JSON.stringify(own.id);
  const isPlain = written.length === own.id.length + 2;
  own.id = isPlain ? written.slice(1, -1) : (JSON.parse(written) as string);
  return written;
}

/** Methods are few and called often, and looking one up costs less than a copy. */
function ownName(name: string): string {
  const known = names.get(name);
  if (known !== undefined) return known;
  const own = copyString(name);
  if (own.length > longestName) return own;
  if (names.size >= mostNames) names.clear();
  names.set(own, own);
  return own;
}
