import type { Log } from "../protocol/log.ts";
import { isTerminal, jsonLine, safeJson, toConsole } from "../protocol/log-text.ts";

export interface LineLogOptions {
  /** Writes readable lines instead of JSON. @default true on a terminal */
  readonly pretty?: boolean;
  /** Takes each line, without a line feed. @default the console */
  readonly write?: (line: string, level: keyof Log) => void;
}

/**
 * Writes one line per entry: JSON, or readable columns on a terminal.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { lineLog, logging } from "callwire/observability";
 *
 * const log = lineLog({ pretty: false, write: (line) => process.stdout.write(`${line}\n`) });
 * const watched = createServer(methods, { log, use: [logging({ log })] });
 * ```
 */
export function lineLog(options: LineLogOptions = {}): Log {
  const { pretty, write = toConsole } = options;
  const forPeople = prettyLine(wantsColours() ? painted : unpainted);
  const at = (level: keyof Log) => {
    const line = (pretty ?? isTerminal(level)) ? forPeople : jsonLine;
    return (fields: object, message: string): void => write(line(level, fields, message), level);
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

function wantsColours(): boolean {
  // Not every runtime has `process`.
  const own = Reflect.get(globalThis, "process") as
    | { readonly env?: Readonly<Record<string, string | undefined>> }
    | undefined;
  return (own?.env?.NO_COLOR ?? "") === "";
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

/** Without quotes if the value is unambiguous. */
function bare(value: unknown): string {
  if (typeof value === "string" && /^[\w$./:@-][\w $./:@-]*$/.test(value)) return value;
  return safeJson(value);
}
