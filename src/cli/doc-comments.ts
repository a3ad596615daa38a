import type { FunctionNotes } from "./source-notes.ts";
import { type ArgumentNotes, writtenMembers, writtenResult, writtenType } from "./written-types.ts";

/** A doc comment, and the name of the function, constant or member below it. */
const documented =
  /^[ \t]*\/\*\*(?!\/)((?:(?!\*\/|\/\*)[\s\S])*)\*\/\s*(?:export\s+)?(?:async\s+)?(?:function\b\s*\*?\s*|(?:const|let)\s+|\*\s*)?(?:"([^"\n]+)"|'([^'\n]+)'|([\p{ID_Start}$_][\p{ID_Continue}$]*))\s*[:=(<]/gmu;

/** The doc comments of a source, by the name below them; ambiguous names are left out. */
export function commentsIn(source: string): Map<string, FunctionNotes> {
  const found = new Map<string, FunctionNotes | undefined>();
  for (const [, comment = "", double, single, plain] of source.matchAll(documented)) {
    const name = double ?? single ?? plain ?? "";
    found.set(name, found.has(name) ? undefined : parsed(comment));
  }
  return new Map([...found].flatMap(([name, notes]) => (notes ? [[name, notes]] : [])));
}

/** Tags begin a line; @param and @returns may also follow text. */
const tagStart = /^(?=@)|(?<=\s)(?=@(?:param|returns?)\s)/m;

/** `options.a` or `[a=1]`, and its description. */
const named =
  /^\s*(?:\[\s*([\p{ID_Continue}$.]+)(?:\[[^\]]*\]|[^\]])*\]|([\p{ID_Continue}$.]+)[:,-]?)(?!\S)\s*(?:-\s*)?([\s\S]*)$/u;

function parsed(comment: string): FunctionNotes {
  const text = comment.replace(/^[ \t]*\*? ?/gm, "");
  // The newline makes the split match a tag at the very beginning.
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
    const [, optionalName, requiredName, text = ""] = named.exec(rest ?? "") ?? [];
    // Members of a destructured argument are written as `options.a`.
    const [name = "", member, ...deeper] = (optionalName ?? requiredName ?? "").split(".");
    if (name === "" || deeper.length > 0) continue;
    const { schema, optional = false } = writtenType(type ?? "");
    const about = oneLine(text);
    const notes = {
      schema: { ...schema, ...(about !== "" && { description: about }) },
      ...((optional || optionalName !== undefined) && { optional: true }),
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

/** Splits a tag into its type and the rest; undefined for other tags. */
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
