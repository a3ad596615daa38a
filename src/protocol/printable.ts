/**
 * Characters that control what displays them: C0 and C1 controls and DEL control terminals, separators end lines, and
 * direction marks reorder text.
 */
const control =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not pass
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff]/;

const everywhere = new RegExp(control, "g");
const withinLines = new RegExp(`(?![\\n\\t]|\\r\\n)${control.source}`, "g");

/**
 * Makes untrusted text safe to show on one line of a terminal or a log: each control character is written as an
 * escape, such as `\u001b`.
 * @example
 * ```ts
 * import { printable } from "callwire";
 *
 * console.log(printable("\u001b[2Jall gone")); // \u001b[2Jall gone, and the screen stays as it is
 * ```
 */
export function printable(text: string): string {
  return control.test(text) ? text.replace(everywhere, escaped) : text;
}

/**
 * The same for several lines: line breaks and tabs stay. JSON keeps its value.
 * @example
 * ```ts
 * import { printableLines } from "callwire";
 *
 * const reply = { title: "\u001b[31mred" };
 * console.log(printableLines(JSON.stringify(reply, null, 2)));
 * ```
 */
export function printableLines(text: string): string {
  return control.test(text) ? text.replace(withinLines, escaped) : text;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
