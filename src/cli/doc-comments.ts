import type { FunctionNotes } from "./source-notes.ts";
import { type ArgumentNotes, writtenMembers, writtenResult, writtenType } from "./written-types.ts";

/** A comment that begins its line, and the name of the function, constant or member below it. */
const documented =
  /^[ \t]*\/\*\*(?!\/)((?:(?!\*\/|\/\*)[\s\S])*)\*\/\s*(?:export\s+)?(?:async\s+)?(?:function\b\s*\*?\s*|(?:const|let)\s+|\*\s*)?(?:"([^"\n]+)"|'([^'\n]+)'|([\p{ID_Start}$_][\p{ID_Continue}$]*))\s*[:=(<]/gmu;

/** What doc comments say of what stands below them, by name; a name with two is told by neither. */
export function commentsIn(source: string): Map<string, FunctionNotes> {
  const found = new Map<string, FunctionNotes | undefined>();
  for (const [, comment = "", double, single, plain] of source.matchAll(documented)) {
    const name = double ?? single ?? plain ?? "";
    found.set(name, found.has(name) ? undefined : parsed(comment));
  }
  return new Map([...found].flatMap(([name, notes]) => (notes ? [[name, notes]] : [])));
}

/** Tags begin lines; those that are read here may also follow a sentence. */
const tagStart = /^(?=@)|(?<=\s)(?=@(?:param|returns?)\s)/m;

/** `options.a` or `[a=1]`, and the sentence behind it. */
const named =
  /^\s*(?:\[\s*([\p{ID_Continue}$.]+)(?:\[[^\]]*\]|[^\]])*\]|([\p{ID_Continue}$.]+)[:,-]?)(?!\S)\s*(?:-\s*)?([\s\S]*)$/u;

function parsed(comment: string): FunctionNotes {
  const text = comment.replace(/^[ \t]*\*? ?/gm, "");
  // A split at the very beginning would be none.
  const [body = "", ...tags] = `\n${text}`.split(tagStart);
  const [summary, ...rest] = body
    .trim()
    .split(/\n\s*\n/)
    .map(oneLine);
  const description = rest.filter((part) => part !== "").join("\n\n");
  return {
    ...(summary && { summary }),
    ...(description !== "" && { description }),
    ...argumentsIn(tags),
    ...resultIn(tags),
  };
}

function argumentsIn(tags: readonly string[]): Pick<FunctionNotes, "params" | "members"> {
  const params: [string, ArgumentNotes][] = [];
  const members: [string, ArgumentNotes][] = [];
  for (const tag of tags) {
    const { type, rest } = typed(tag, /^@param\s+/) ?? {};
    const [, maybe, always, said = ""] = named.exec(rest ?? "") ?? [];
    // Members of an object that is taken apart are written as `options.a`.
    const [name = "", member, ...deeper] = (maybe ?? always ?? "").split(".");
    if (name === "" || deeper.length > 0) continue;
    const { schema, optional = false } = writtenType(type ?? "");
    const about = oneLine(said);
    const notes = {
      schema: { ...schema, ...(about !== "" && { description: about }) },
      ...((optional || maybe !== undefined) && { optional: true }),
    };
    if (member !== undefined) members.push([member, notes]);
    else {
      params.push([name, notes]);
      members.push(...Object.entries(writtenMembers(notes)));
    }
  }
  return { params: Object.fromEntries(params), members: Object.fromEntries(members) };
}

function resultIn(tags: readonly string[]): Pick<FunctionNotes, "result"> {
  const types = tags.flatMap((tag) => typed(tag, /^@returns?\s+/)?.type ?? []);
  const result = writtenResult(types[0] ?? "");
  return result === undefined ? {} : { result };
}

/** Takes the type in its brackets from the front of a tag; undefined where it is another tag. */
function typed(
  tag: string,
  start: RegExp,
): { readonly type: string | undefined; readonly rest: string } | undefined {
  const [found] = start.exec(tag) ?? [];
  if (found === undefined) return undefined;
  const rest = tag.slice(found.length);
  if (!rest.startsWith("{")) return { type: undefined, rest };
  let depth = 0;
  for (let at = 0; at < rest.length; at++) {
    if (rest[at] === "{") depth++;
    if (rest[at] === "}" && --depth === 0) {
      return { type: rest.slice(1, at), rest: rest.slice(at + 1) };
    }
  }
  return undefined;
}

function oneLine(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
