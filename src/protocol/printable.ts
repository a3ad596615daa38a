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
 */
export function printable(text: string): string {
  return control.test(text) ? text.replace(everywhere, escaped) : text;
}

/** The same for several lines: line breaks and tabs stay. JSON keeps its value. */
export function printableLines(text: string): string {
  return control.test(text) ? text.replace(withinLines, escaped) : text;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
