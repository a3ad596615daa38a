import { inspect } from "node:util";
import { type Log, printableLines } from "callwire";
import { lineLog } from "callwire/observability";
import { type Options, option } from "./command.ts";
import { invalid, oneLine } from "./failure.ts";
import { notice } from "./terminal.ts";

export const logFormats = ["json", "pretty"] as const;
export type LogFormat = (typeof logFormats)[number];

export const logOption = {
  log: option("format", "json or pretty (default: pretty on a terminal)", {
    env: "CALLWIRE_LOG",
    values: logFormats,
  }),
} as const satisfies Options;

export function logFormatOf(text: string | undefined): LogFormat | undefined {
  if (text === undefined) return undefined;
  const format = logFormats.find((known) => known === text);
  if (format !== undefined) return format;
  throw invalid("--log", "json or pretty", text);
}

/** The log of a server: JSON lines with a time for collectors, short lines for people. */
export function logIn(format: LogFormat = process.stderr.isTTY ? "pretty" : "json"): Log {
  if (format === "pretty") return prettyLog;
  const write = (line: string): void => console.error(line);
  return { ...lineLog({ pretty: false, write }), debug() {} };
}

/** Warnings and errors only; servers also report normal events as information. */
export function warningsOf(log: Log): Log {
  return { ...log, info() {} };
}

const longestReason = 300;

/** Prints each event as one line: what happened, where and why. An error also has its stack. */
const prettyLog: Log = {
  debug() {},
  info: (_, message) => notice(message),
  warn: (fields, message) => notice(lineOf(fields, message)),
  error(fields, message) {
    notice(lineOf(fields, message));
    const { err } = fields as { err?: unknown };
    if (err instanceof Error) console.error(printableLines(inspect(err)));
  },
};

function lineOf(fields: object, message: string): string {
  const { upstream, target, reason, err, ...rest } = fields as Record<string, unknown>;
  const why = reason ?? err;
  const cause = why === undefined ? "" : cut(withoutTarget(target, oneLine(why)));
  const parts = [message, upstream, target, cause];
  const line = parts.filter((part) => part !== undefined && part !== "").join(": ");
  const more = Object.entries(rest)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  return `${line}${more.join("")}`;
}

/** Removes the address, which several wires repeat in their messages. */
function withoutTarget(target: unknown, reason: string): string {
  if (typeof target !== "string" || target === "") return reason;
  const rest = reason.startsWith(target) ? reason.slice(target.length) : reason;
  return rest.replace(/^:?\s*/, "").replace(` to ${target}`, "");
}

function cut(text: string): string {
  return text.length > longestReason ? `${text.slice(0, longestReason)}…` : text;
}
