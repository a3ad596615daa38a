import { type ArgumentNotes, notesOf } from "./function-notes.ts";
import type { JsonSchemaObject } from "./json-schema.ts";

/** The parameters of a plain function according to its source text, with the notes on each. */
export type ParameterNames = (ReadNames | Unknown) & {
  readonly notes?: Readonly<Record<string, ArgumentNotes>> | undefined;
  /** The documented type of its result, which is not enforced. */
  readonly result?: JsonSchemaObject | undefined;
};

type ReadNames =
  /** Named parameters, in order. */
  | (ReadList & { readonly form: "named" })
  /** One destructured object; `others` if it also takes other members. */
  | (ReadList & { readonly form: "object"; readonly others: boolean });

/** Only by position: the number before a default or rest parameter, and how many are required. */
interface Unknown {
  readonly form: "unknown";
  readonly count: number;
  readonly least: number;
}

interface ReadList {
  readonly names: readonly string[];
  /** Parameters without a default that are not documented as optional. */
  readonly required: readonly string[];
}

const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;

/** Reads parameter names from the source text of a function; "unknown" if that is not reliable. */
export function parameterNames(run: (...args: never[]) => unknown): ParameterNames {
  const { params, members, result } = notesOf(run);
  const read = namesIn(run);
  const notes = read.form === "object" ? { ...params, ...members } : { ...params };
  const isOptional = (name: string): boolean =>
    Object.hasOwn(notes, name) && notes[name]?.optional === true;
  if (read.form === "unknown") {
    const least = read.leading.findLastIndex((name) => !isOptional(name)) + 1;
    return { form: "unknown", count: run.length, least, result };
  }
  const required = read.required.filter((name) => !isOptional(name));
  return { ...read, required, notes, result };
}

/** If not all names are readable: the parameters before a default or rest, some of which may not be names. */
interface Unread {
  readonly form: "unknown";
  readonly leading: readonly string[];
}

function namesIn(run: (...args: never[]) => unknown): ReadNames | Unread {
  const { length: count } = run;
  const source = Function.prototype.toString.call(run);
  const parts = source.endsWith("[native code] }") ? undefined : listIn(source, "(");
  if (parts === undefined) return { form: "unknown", leading: Array(count).fill("") };
  const [first = ""] = parts;
  if (parts.length === 1 && first.startsWith("{")) return membersIn(first, count === 0);
  const names = parts.map((part) => nameOf(part, /=/));
  const areTold = names.every((name) => identifier.test(name));
  if (!areTold || new Set(names).size < names.length) {
    return { form: "unknown", leading: names.slice(0, count) };
  }
  return { form: "named", names, required: names.slice(0, count) };
}

/** If the whole object is optional, so is each member. */
function membersIn(pattern: string, mayBeMissing: boolean): ReadNames {
  const parts = listIn(pattern, "{") ?? [];
  const members = parts.map((part) => ({ part, name: nameOf(part, /[:=]/) }));
  const plain = members.filter(({ name }) => identifier.test(name));
  const required = mayBeMissing ? [] : plain.filter(({ part }) => !hasDefault(part));
  return {
    form: "object",
    names: plain.map(({ name }) => name),
    required: required.map(({ name }) => name),
    others: plain.length < members.length,
  };
}

/** Whether `a: { b = 1 } = {}` itself has a default, apart from its members. */
function hasDefault(part: string): boolean {
  return (listIn(`(${part})`, "(", "=")?.length ?? 0) > 1;
}

function nameOf(part: string, end: RegExp): string {
  return (part.split(end)[0] ?? "").trim();
}

const pieces =
  /\/\*.*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|\$(?!\{)|[^`\\$])*`|./gs;

/** Starts of regular expressions and templates with code, which are not parsed. */
const unreadable = "/`";

/**
 * The content of the first such bracket, split at commas outside of inner brackets. For `x => …`,
 * which has no bracket, it is `x`.
 */
function listIn(text: string, opening: "(" | "{", separator = ","): string[] | undefined {
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
    } else if (depth === 1 && token === separator) parts.push("");
    else parts[parts.length - 1] += token;
    if ("([{".includes(token)) depth++;
  }
  return undefined;
}

/**
 * The arguments of a function that was called by name, if all members are parameter names. Otherwise
 * undefined: the object is the first argument, as a typed client sends it.
 */
export function argumentsByName(
  names: readonly string[],
  params: Readonly<Record<string, unknown>>,
): unknown[] | undefined {
  const given = Object.keys(params);
  if (given.length === 0 || !given.every((name) => names.includes(name))) return undefined;
  return names.map((name) => (Object.hasOwn(params, name) ? params[name] : undefined));
}

/** The schema of an argument of a plain function, according to its notes. */
export function argumentSchema(
  parameters: ParameterNames | undefined,
  name: string,
): JsonSchemaObject {
  const { notes = {} } = parameters ?? {};
  return (Object.hasOwn(notes, name) ? notes[name]?.schema : undefined) ?? {};
}
