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
  /** The default values that JSON can express, by name. */
  readonly defaults: ReadonlyMap<string, unknown>;
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

/** If not all names are readable: the parameters before a default or rest; some may not be names. */
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
  const defaults = defaultsOf(parts, names);
  return { form: "named", names, required: names.slice(0, count), defaults };
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
    defaults: defaultsOf(
      plain.map(({ part }) => part),
      plain.map(({ name }) => name),
    ),
  };
}

/** Whether `a: { b = 1 } = {}` itself has a default, apart from its members. */
function hasDefault(part: string): boolean {
  return defaultIn(part) !== undefined;
}

/** The source of the default value. */
function defaultIn(part: string): string | undefined {
  const [, ...rest] = listIn(`(${part})`, "(", "=") ?? [];
  return rest.length === 0 ? undefined : rest.join("=");
}

function defaultsOf(parts: readonly string[], names: readonly string[]): Map<string, unknown> {
  const defaults = new Map<string, unknown>();
  parts.forEach((part, i) => {
    const value = literalIn(defaultIn(part) ?? "");
    if (value !== undefined) defaults.set(names[i] as string, value);
  });
  return defaults;
}

/** How minifiers write these values. */
const shortened: ReadonlyMap<string, unknown> = new Map([
  ["!0", true],
  ["!1", false],
]);

/** The value of a literal that JSON can express; undefined for anything else, which is not evaluated. */
function literalIn(source: string): unknown {
  const quoted = /^(['`])([^"'`\\]*)\1$/.exec(source);
  const isNumber = /^-?[\d_.]+$/.test(source);
  const json = quoted === null ? source : `"${quoted[2]}"`;
  try {
    return shortened.get(source) ?? JSON.parse(isNumber ? json.replaceAll("_", "") : json);
  } catch {
    return undefined;
  }
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

/** The schema of an argument of a plain function, according to its notes and its default value. */
export function argumentSchema(
  parameters: ParameterNames | undefined,
  name: string,
): JsonSchemaObject {
  const { notes = {} } = parameters ?? {};
  const noted = (Object.hasOwn(notes, name) ? notes[name]?.schema : undefined) ?? {};
  if (parameters === undefined || parameters.form === "unknown") return noted;
  const value = parameters.defaults.get(name);
  if (value === undefined) return noted;
  const isTyped = Object.keys(noted).some((keyword) => keyword !== "description");
  return { ...(!isTyped && typeOf(value)), default: value, ...noted };
}

/** The type that a compiler would infer from a default value. */
function typeOf(value: unknown): JsonSchemaObject {
  if (value === null) return {};
  return { type: Array.isArray(value) ? "array" : typeof value };
}
