import { type Log, plainLog } from "./log.ts";
import { isTerminal, jsonLine } from "./log-line.ts";

/** Warnings and errors go to the console, one line of JSON each unless it is a terminal or a browser's; the rest is dropped. */
export const consoleLog: Log = { ...plainLog, warn: at("warn"), error: at("error") };

function at(level: "warn" | "error"): Log["warn"] {
  return (fields, message) => {
    // biome-ignore lint/suspicious/noConsole: it is where lines go by default.
    if (isTerminal(level) === false) console[level](jsonLine(level, fields, message));
    else plainLog[level](fields, message);
  };
}
