import type { Terminal } from "./terminal.ts";

const token = /("(?:\\.|[^"\\])*")(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

/** JSON for people: indented, and coloured where the terminal has colours. */
export function jsonView(value: unknown, terminal: Terminal, indent = 2): string {
  // A result that is nothing, which 2.0 has no word for, reads best as null.
  const text = escaped(JSON.stringify(value, null, indent) ?? "null");
  return text.replace(token, (match, string?: string, colon?: string) => {
    if (string !== undefined && colon !== undefined) return terminal.cyan(string) + colon;
    if (string !== undefined) return terminal.green(string);
    return terminal.yellow(match);
  });
}

/** On one line, for lists and scripts. */
export function jsonLine(value: unknown): string {
  return escaped(JSON.stringify(value) ?? "null");
}

/** JSON.stringify escapes most of what could steer a terminal; these it leaves as they are. */
function escaped(text: string): string {
  return text.replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
