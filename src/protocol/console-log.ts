import { type Log, plainLog } from "./log.ts";
import { isTerminal, jsonLine, toConsole } from "./log-text.ts";
import { printable, printableLines } from "./printable.ts";

/**
 * Writes warnings and errors to the console, as one line of JSON each unless it is a terminal or a browser's console;
 * drops the rest.
 */
export const consoleLog: Log = { ...plainLog, warn: at("warn"), error: at("error") };

function at(level: "warn" | "error"): Log["warn"] {
  return (fields, message) => {
    const toTerminal = isTerminal(level);
    if (toTerminal === false) toConsole(jsonLine(level, fields, message), level);
    else plainLog[level](toTerminal ? escapedFields(fields) : fields, message);
  };
}

/** Deeper causes are left out; the chain may be circular. */
const mostCauses = 8;

/** Escapes control characters in strings and errors, because consoles print stacks unescaped. */
function escapedFields(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, escapedValue(value, mostCauses)]),
  );
}

function escapedValue(value: unknown, depth: number): unknown {
  if (typeof value === "string") return printable(value);
  if (!(value instanceof Error)) return value;
  const copy = Object.create(
    Object.getPrototypeOf(value),
    Object.getOwnPropertyDescriptors(value),
  ) as Error;
  const set = (name: string, inner: unknown) =>
    Object.defineProperty(copy, name, { value: inner, configurable: true, writable: true });
  set("message", printable(value.message));
  set("stack", printableLines(value.stack ?? value.message));
  if (value.cause !== undefined) {
    set("cause", depth > 0 ? escapedValue(value.cause, depth - 1) : undefined);
  }
  return copy;
}
