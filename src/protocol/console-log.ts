import { type Log, plainLog } from "./log.ts";
import { isTerminal, jsonLine } from "./log-line.ts";
import { printable, printableLines } from "./printable.ts";

/** Warnings and errors go to the console, one line of JSON each unless it is a terminal or a browser's; the rest is dropped. */
export const consoleLog: Log = { ...plainLog, warn: at("warn"), error: at("error") };

function at(level: "warn" | "error"): Log["warn"] {
  return (fields, message) => {
    const toTerminal = isTerminal(level);
    // biome-ignore lint/suspicious/noConsole: it is where lines go by default.
    if (toTerminal === false) console[level](jsonLine(level, fields, message));
    else plainLog[level](toTerminal ? shown(fields) : fields, message);
  };
}

/** Causes behind more than these are left out; they may lead back to the first. */
const mostCauses = 8;

/** Fields whose texts and errors do nothing to a terminal; consoles write the stack of an error as it is. */
function shown(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, safeTap(value, mostCauses)]),
  );
}

function safeTap(value: unknown, depth: number): unknown {
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
    set("cause", depth > 0 ? safeTap(value.cause, depth - 1) : undefined);
  }
  return copy;
}
