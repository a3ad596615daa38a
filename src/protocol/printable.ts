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
 */
export function printable(text: string): string {
  return acting.test(text) ? text.replace(everywhere, escaped) : text;
}

/** The same for text of several lines, whose ends of lines and tabs stay. JSON stays the same value. */
export function printableLines(text: string): string {
  return acting.test(text) ? text.replace(withinLines, escaped) : text;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
