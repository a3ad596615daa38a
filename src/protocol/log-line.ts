import type { Log } from "./log.ts";
import { jsonOf } from "./logged-error.ts";
import { printable } from "./printable.ts";

interface OwnProcess {
  readonly stdout?: { readonly isTTY?: boolean };
  readonly stderr?: { readonly isTTY?: boolean };
}

/** Whether what the console writes at this level ends at a terminal; undefined where no process has one. */
export function isTerminal(level: keyof Log): boolean | undefined {
  // By its name as a text, since only some runtimes have it.
  const own = Reflect.get(globalThis, "process") as OwnProcess | undefined;
  const stream = level === "warn" || level === "error" ? own?.stderr : own?.stdout;
  return stream === undefined ? undefined : stream.isTTY === true;
}

/** Put together by hand: most fields are short texts and numbers, and a replacer would be asked for each. */
export function jsonLine(level: keyof Log, fields: object, message: string): string {
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

/** JSON of anything at all, which stays on its line and does nothing to a terminal. */
export function safeJson(value: unknown): string {
  return printable(jsonOf(value) ?? "null");
}

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
