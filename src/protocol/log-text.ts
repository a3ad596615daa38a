import { isoTime } from "./iso-time.ts";
import type { Log } from "./log.ts";
import { printable } from "./printable.ts";
import { isPlain } from "./serialize.ts";

interface OwnStream {
  readonly isTTY?: boolean;
  on?(event: "error", listener: () => void): unknown;
}

/** What the console writes this level to; undefined if there is no process. */
function streamOf(level: keyof Log): OwnStream | undefined {
  // Looked up by name, because only some runtimes have it.
  const own = Reflect.get(globalThis, "process") as
    | { readonly stdout?: OwnStream; readonly stderr?: OwnStream }
    | undefined;
  return level === "warn" || level === "error" ? own?.stderr : own?.stdout;
}

/** Whether the console writes this level to a terminal; undefined if there is no process. */
export function isTerminal(level: keyof Log): boolean | undefined {
  const stream = streamOf(level);
  return stream === undefined ? undefined : stream.isTTY === true;
}

const guarded = /* @__PURE__ */ new WeakSet<OwnStream>();

/** Writes a line to the console. Node would end the process if the console cannot write, as on a full disk. */
export function toConsole(line: string, level: keyof Log): void {
  const stream = streamOf(level);
  if (stream !== undefined && !guarded.has(stream)) {
    guarded.add(stream);
    stream.on?.("error", () => {});
  }
  // biome-ignore lint/suspicious/noConsole: it is where lines go by default.
  console[level](line);
}

let lastLevel: keyof Log | undefined;
let lastEvent: string | undefined;
/** Level and event as they are written; most entries have those of the entry before. */
let lastHead = "";

/** One entry of a log. */
export function jsonLine(level: keyof Log, fields: object, event: string): string {
  if (event !== lastEvent || level !== lastLevel) {
    lastHead = `,"level":"${level}","msg":${valueText(event)}`;
    lastLevel = level;
    lastEvent = event;
  }
  return eventLine(fields, lastHead);
}

/**
 * One line of JSON: the time, what `first` has after it, and the fields. Concatenated by hand: most fields are short
 * strings and numbers, and a replacer would be called for each.
 */
export function eventLine(fields: object, first = ""): string {
  let line = `{"time":"${isoTime(Date.now())}"${first}`;
  for (const name in fields) {
    const value = (fields as Record<string, unknown>)[name];
    if (value !== undefined) line += nameText(name) + valueText(value);
  }
  return `${line}}`;
}

/** The names of members as they are written; most logs have few. */
const nameTexts = /* @__PURE__ */ new Map<string, string>();
const mostNames = 200;

function nameText(name: string): string {
  const known = nameTexts.get(name);
  if (known !== undefined) return known;
  const text = `,${valueText(name)}:`;
  if (nameTexts.size < mostNames) nameTexts.set(name, text);
  return text;
}

function valueText(value: unknown): string {
  if (typeof value === "number") return Number.isFinite(value) ? numberText(value) : "null";
  if (typeof value === "string" && isPlain(value)) return `"${value}"`;
  return safeJson(value);
}

const fractions: string[] = [];

/** As a template writes it, but faster for durations: they have three decimals, which V8 searches for. */
function numberText(value: number): string {
  const thousandths = Math.round(value * 1000);
  if (!(value >= 0 && value < 1_000_000) || thousandths / 1000 !== value) return `${value}`;
  const rest = thousandths % 1000;
  const fraction = fractions[rest] ?? `${rest / 1000}`.slice(1);
  fractions[rest] = fraction;
  return `${(thousandths - rest) / 1000}${fraction}`;
}

/** JSON of any value, on one line and without control characters. */
export function safeJson(value: unknown): string {
  return printable(jsonOf(value) ?? "null");
}

/** Most errors described in full in one entry, including causes and members; also ends circular chains. */
const mostErrors = 16;
/** Longest cause or data that is not an error, in characters. */
const mostDetail = 8192;

/** How a log describes an error: with its simple members, such as `code`, and its causes. */
export function loggedError(error: Error, seen = new Set<Error>()): unknown {
  if (seen.has(error) || seen.size >= mostErrors) return `${error.name}: ${error.message}`;
  seen.add(error);
  const { name, message, stack } = error;
  const entry: Record<string, unknown> = { type: name, message, stack };
  for (const key of Object.keys(error)) {
    if (key in entry || key === "name") continue;
    const value = Reflect.get(error, key);
    // Object members of errors may hold sockets and whole requests, with secrets.
    if (value !== null && typeof value !== "object") entry[key] = value;
  }
  for (const key of ["data", "errors", "cause"]) {
    const value: unknown = Reflect.get(error, key);
    if (value !== undefined) entry[key] = detail(value, seen);
  }
  return entry;
}

function detail(value: unknown, seen: Set<Error>): unknown {
  return Array.isArray(value)
    ? firstOf(value).map((member) => short(member, seen))
    : short(value, seen);
}

function short(value: unknown, seen: Set<Error>): unknown {
  if (value instanceof Error) return loggedError(value, seen);
  if (typeof value !== "object" || value === null) return value;
  const text = jsonOf(value, seen) ?? "null";
  // Parsed again, so that errors in it are not expanded again when the line is written.
  return text.length > mostDetail ? `${text.slice(0, mostDetail)}...` : JSON.parse(text);
}

function firstOf(list: readonly unknown[]): readonly unknown[] {
  const more = list.length - mostErrors;
  return more > 0 ? [...list.slice(0, mostErrors), `${more} more`] : list;
}

/** JSON of any value, including errors; the reason if it cannot be serialized. */
export function jsonOf(value: unknown, seen?: Set<Error>): string | undefined {
  const replacement = (_key: string, member: unknown): unknown => {
    if (member instanceof Error) return loggedError(member, seen);
    return typeof member === "bigint" ? `${member}` : member;
  };
  try {
    return JSON.stringify(value, replacement);
  } catch (error) {
    return JSON.stringify(`(${error instanceof Error ? error.message : "not JSON"})`);
  }
}
