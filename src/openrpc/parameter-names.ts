import { notesOf } from "./function-notes.ts";

/** What the source text of a plain function tells about its parameters, and what is said about each. */
export type ParameterNames = ReadNames & { readonly notes?: Readonly<Record<string, string>> };

type ReadNames =
  /** Each by its name, in order; the first `required` of them have no default. */
  | { readonly form: "named"; readonly names: readonly string[]; readonly required: number }
  /** One object, whose members it takes apart; `others` where it takes more than it names. */
  | { readonly form: "object"; readonly names: readonly string[]; readonly others: boolean }
  | { readonly form: "unknown"; readonly count: number };

const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;

/** A plain function has its names in its text only; where they cannot be read for sure, they are unknown. */
export function parameterNames(run: (...args: never[]) => unknown): ParameterNames {
  const { params: notes } = notesOf(run);
  const read = namesIn(run);
  return notes === undefined ? read : { ...read, notes };
}

function namesIn(run: (...args: never[]) => unknown): ReadNames {
  const unknown = { form: "unknown", count: run.length } as const;
  const source = Function.prototype.toString.call(run);
  const parts = source.endsWith("[native code] }") ? undefined : listIn(source, "(");
  if (parts === undefined) return unknown;
  const [first = ""] = parts;
  if (parts.length === 1 && first.startsWith("{")) {
    const names = listIn(first, "{")?.map((part) => nameOf(part, /[:=]/)) ?? [];
    const plain = names.filter((name) => identifier.test(name));
    return { form: "object", names: plain, others: plain.length < names.length };
  }
  const names = parts.map((part) => nameOf(part, /=/));
  const areTold = names.every((name) => identifier.test(name));
  if (!areTold || new Set(names).size < names.length) return unknown;
  return { form: "named", names, required: run.length };
}

function nameOf(part: string, end: RegExp): string {
  return (part.split(end)[0] ?? "").trim();
}

const pieces =
  /\/\*.*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|\$(?!\{)|[^`\\$])*`|./gs;

/** Begin a regular expression or a template with code in it; where such a thing ends is not looked for. */
const unreadable = "/`";

/**
 * What stands between the first such bracket and its end, split at the commas that stand in no other
 * bracket. Of `x => …`, which has none, it is `x`.
 */
function listIn(text: string, opening: "(" | "{"): string[] | undefined {
  let head = "";
  let parts: string[] | undefined;
  let depth = 0;
  for (const [piece] of text.matchAll(pieces)) {
    if (unreadable.includes(piece)) return undefined;
    const token = /^\/[*/]/.test(piece) ? " " : piece;
    if (")]}".includes(token)) depth--;
    if (parts === undefined) {
      if (depth === 0 && token === "=") return [head.replace(/^\s*async\s/, "").trim()];
      if (depth === 0 && token === opening) parts = [""];
      head += token;
    } else if (depth === 0) {
      const trimmed = parts.map((part) => part.trim());
      return trimmed.at(-1) === "" ? trimmed.slice(0, -1) : trimmed;
    } else if (depth === 1 && token === ",") parts.push("");
    else parts[parts.length - 1] += token;
    if ("([{".includes(token)) depth++;
  }
  return undefined;
}

/**
 * The arguments of a function of several that was called by name: where each member is one of the
 * names. Otherwise the object is itself the first argument, as a typed client sends it.
 */
export function argumentsByName(
  names: readonly string[],
  params: Readonly<Record<string, unknown>>,
): unknown[] | undefined {
  const given = Object.keys(params);
  if (given.length === 0 || !given.every((name) => names.includes(name))) return undefined;
  return names.map((name) => (Object.hasOwn(params, name) ? params[name] : undefined));
}

/** The schema of an argument: of a plain function no more than a sentence is known of it. */
export function argumentSchema(
  parameters: ParameterNames | undefined,
  name: string,
): { readonly description?: string } {
  const { notes = {} } = parameters ?? {};
  const description = Object.hasOwn(notes, name) ? notes[name] : undefined;
  return description === undefined ? {} : { description };
}
