import type { Log } from "../protocol/log.ts";

export interface LineLogOptions {
  /** Lines for people in place of JSON. @default on a terminal */
  readonly pretty?: boolean;
  /** Takes each line, without its end. @default the console */
  readonly write?: (line: string, level: keyof Log) => void;
}

/** Writes one line per entry: JSON for machines, short columns for people. */
export function lineLog(options: LineLogOptions = {}): Log {
  const { pretty = isTerminal(), write = toConsole } = options;
  const line = pretty ? prettyLine(wantsColours() ? painted : unpainted) : jsonLine;
  const at =
    (level: keyof Log) =>
    (fields: object, message: string): void =>
      write(line(level, fields, message), level);
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

function toConsole(line: string, level: keyof Log): void {
  // biome-ignore lint/suspicious/noConsole: it is where lines go by default.
  console[level](line);
}

interface OwnProcess {
  readonly stdout?: { readonly isTTY?: boolean };
  readonly env?: Readonly<Record<string, string | undefined>>;
}

function isTerminal(): boolean {
  return ownProcess()?.stdout?.isTTY === true;
}

function wantsColours(): boolean {
  return (ownProcess()?.env?.NO_COLOR ?? "") === "";
}

/** By its name as a text, since only some runtimes have it. */
function ownProcess(): OwnProcess | undefined {
  return Reflect.get(globalThis, "process") as OwnProcess | undefined;
}

// What JSON leaves as it is, but terminals and readers of lines may take for more than text.
const unsafe = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;
const mayBeUnsafe = /[^\u0020-\u007e]/;

/** JSON that stays on its line and does nothing to a terminal. */
function safeJson(value: unknown): string {
  const text = JSON.stringify(value, replacement) ?? "null";
  return mayBeUnsafe.test(text) ? text.replace(unsafe, escaped) : text;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function replacement(_key: string, value: unknown): unknown {
  if (value instanceof Error)
    return { type: value.name, message: value.message, stack: value.stack };
  return typeof value === "bigint" ? `${value}` : value;
}

/** Put together by hand: most fields are short texts and numbers, and a replacer would be asked for each. */
function jsonLine(level: keyof Log, fields: object, message: string): string {
  let line = `{"time":"${isoTime()}","level":"${level}","msg":${valueText(message)}`;
  for (const name in fields) {
    const value = (fields as Record<string, unknown>)[name];
    if (value !== undefined) line += `,${valueText(name)}:${valueText(value)}`;
  }
  return `${line}}`;
}

function valueText(value: unknown): string {
  if (typeof value === "number") return Number.isFinite(value) ? `${value}` : "null";
  if (typeof value === "string" && plainText.test(value)) return `"${value}"`;
  return safeJson(value);
}

/** What needs no escape in JSON. */
const plainText = /^[\w $.,:;/@()-]*$/;

let second = 0;
let secondText = "";

/** Writing out a date takes longer than the rest of a line, and most of it stays the same for a second. */
function isoTime(): string {
  const now = Date.now();
  const ms = now % 1000;
  if (now - ms !== second) {
    second = now - ms;
    secondText = new Date(second).toISOString().slice(0, 20);
  }
  return `${secondText}${ms < 10 ? "00" : ms < 100 ? "0" : ""}${ms}Z`;
}

const colours: Readonly<Record<keyof Log, number>> = { debug: 2, info: 32, warn: 33, error: 31 };

function prettyLine(paint: Paint): Line {
  return (level, fields, message) => {
    const time = paint(new Date().toISOString().slice(11, 23), 2);
    const parts = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${paint(`${bare(name)}=`, 2)}${bare(value)}`);
    const mark = paint(level.padEnd(5), colours[level]);
    return `${time} ${mark} ${bare(message)} ${parts.join(" ")}`;
  };
}

type Line = (level: keyof Log, fields: object, message: string) => string;
type Paint = (text: string, colour: number) => string;

function painted(text: string, colour: number): string {
  return `\u001b[${colour}m${text}\u001b[0m`;
}

function unpainted(text: string): string {
  return text;
}

/** Without quotes where nothing could be mistaken. */
function bare(value: unknown): string {
  if (typeof value === "string" && /^[\w$./:@-][\w $./:@-]*$/.test(value)) return value;
  return safeJson(value);
}
