/** What a doc comment says of what stands below it. */
interface Notes {
  readonly summary?: string;
  readonly description?: string;
  readonly params: Readonly<Record<string, string>>;
}

/** A comment that begins its line, and the name of the function, constant or member below it. */
const documented =
  /^[ \t]*\/\*\*(?!\/)((?:(?!\*\/|\/\*)[\s\S])*)\*\/\s*(?:export\s+)?(?:async\s+)?(?:function\b\s*\*?\s*|(?:const|let)\s+|\*\s*)?(?:"([^"\n]+)"|'([^'\n]+)'|([\p{ID_Start}$_][\p{ID_Continue}$]*))\s*[:=(<]/gmu;

/** The notes in a source, by name; a name with two comments is told by neither. */
function notesIn(source: string): Map<string, Notes> {
  const found = new Map<string, Notes | undefined>();
  for (const [, comment = "", double, single, plain] of source.matchAll(documented)) {
    const name = double ?? single ?? plain ?? "";
    found.set(name, found.has(name) ? undefined : parsed(comment));
  }
  return new Map([...found].flatMap(([name, notes]) => (notes ? [[name, notes]] : [])));
}

/** `@param {number} [a=1] - text`, up to the next tag. */
const param = /^@param\s+(?:\{[^}]*\}\s*)?\[?([\w$.]+)[^\]\s]*\]?\s*(?:-\s*)?([\s\S]*)$/;

function parsed(comment: string): Notes {
  const text = comment.replace(/^[ \t]*\*? ?/gm, "");
  const [body = "", ...tags] = text.split(/^(?=@)/m);
  const [summary, ...rest] = body.split(/\n\s*\n/).map(oneLine);
  const params = tags.flatMap((tag) => {
    const [, name = "", said = ""] = param.exec(tag) ?? [];
    const about = oneLine(said);
    // Members of an object that is taken apart are written as `options.a`.
    return about === "" ? [] : [[name.replace(/^.*\./, ""), about]];
  });
  const description = rest.filter((part) => part !== "").join("\n\n");
  return {
    ...(summary && { summary }),
    ...(description !== "" && { description }),
    params: Object.fromEntries(params),
  };
}

function oneLine(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}

/** By which the package finds what is said of a plain function. */
const key = Symbol.for("callwire.notes");

/** Gives the plain functions among some methods what the source says above them. */
export function noteFunctions(methods: object, source: string): void {
  const notes = notesIn(source);
  if (notes.size > 0) note(methods, notes, new Set());
}

/** What is no group of methods is refused later; here it must not be gone through for ever. */
function note(group: object, notes: ReadonlyMap<string, Notes>, seen: Set<object>): void {
  if (seen.has(group) || "definition" in group) return;
  seen.add(group);
  for (const [name, entry] of Object.entries(group)) {
    const value = notes.get(name);
    if (typeof entry === "object" && entry !== null) note(entry, notes, seen);
    else if (typeof entry === "function" && value !== undefined) {
      Reflect.defineProperty(entry, key, { value, configurable: true });
    }
  }
}
