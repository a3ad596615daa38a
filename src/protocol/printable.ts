/**
 * Characters that act on what shows them instead of being shown: C0 and C1 controls and DEL steer terminals, separators
 * end lines, and marks of direction make text read as something else.
 */
const acting =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not pass
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff]/;

const everywhere = new RegExp(acting, "g");
const withinLines = new RegExp(`(?![\\n\\t]|\\r\\n)${acting.source}`, "g");

/**
 * Text of another program, which is safe to show on one line of a terminal or a log: each character that would steer
 * what shows it is written as an escape, such as `\u001b`.
 * @example
 * ```ts
 * import { printable } from "callwire";
 *
 * console.log(printable("\u001b[2Jall gone")); // \u001b[2Jall gone, and the screen stays as it is
 * ```
 */
export function printable(text: string): string {
  return acting.test(text) ? text.replace(everywhere, escaped) : text;
}

/**
 * The same for text of several lines, whose ends of lines and tabs stay. JSON stays the same value.
 * @example
 * ```ts
 * import { printableLines } from "callwire";
 *
 * const reply = { title: "\u001b[31mred" };
 * console.log(printableLines(JSON.stringify(reply, null, 2)));
 * ```
 */
export function printableLines(text: string): string {
  return acting.test(text) ? text.replace(withinLines, escaped) : text;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
