import { printableLines } from "callwire";
import type { Terminal } from "./terminal.ts";

const token = /("(?:\\.|[^"\\])*")(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

/** JSON for people: indented, and coloured where the terminal has colours. */
export function jsonView(value: unknown, terminal: Terminal, indent = 2): string {
  // A result that is nothing, which 2.0 has no word for, reads best as null.
  const text = printableLines(JSON.stringify(value, null, indent) ?? "null");
  return text.replace(token, (match, string?: string, colon?: string) => {
    if (string !== undefined && colon !== undefined) return terminal.cyan(string) + colon;
    if (string !== undefined) return terminal.green(string);
    return terminal.yellow(match);
  });
}

/** On one line, for lists and scripts. */
export function jsonLine(value: unknown): string {
  return printableLines(JSON.stringify(value) ?? "null");
}
