import { carriageReturn, lineFeed, lineStarts } from "./line-starts.ts";
import type { Range, TextDocumentContentChangeEvent } from "./model/structures.ts";
import type { PositionEncoding } from "./position-encoding.ts";

/** A function call with many more arguments overflows the stack. */
const mostArguments = 10_000;

/** A text as lines, for many changes at once: a change touches only its own lines, and the text is joined at the end. */
export class EditedLines {
  /** With their line breaks. */
  #lines: string[];
  readonly #encoding: PositionEncoding;

  constructor(text: string, starts: readonly number[], encoding: PositionEncoding) {
    this.#lines = cut(text, starts);
    this.#encoding = encoding;
  }

  get text(): string {
    return this.#lines.join("");
  }

  /** Where the lines start in `text`. */
  get starts(): number[] {
    let at = 0;
    return this.#lines.map((line) => {
      const start = at;
      at += line.length;
      return start;
    });
  }

  change(change: TextDocumentContentChangeEvent): void {
    if ("range" in change) this.#replace(change.range, change.text);
    else this.#lines = cut(change.text, lineStarts(change.text));
  }

  #replace({ start, end }: Range, text: string): void {
    const from = this.#place(start.line, start.character);
    const to = this.#place(end.line, end.character);
    const isBackward = to.line < from.line || (to.line === from.line && to.column < from.column);
    const [first, last] = isBackward ? [to, from] : [from, to];
    const lines = this.#lines;
    let line = first.line;
    let edited =
      (lines[line] as string).slice(0, first.column) +
      text +
      (lines[last.line] as string).slice(last.column);
    // A line feed directly after a carriage return forms one line break with it.
    if (edited.startsWith("\n") && lines[line - 1]?.endsWith("\r")) edited = lines[--line] + edited;
    if (line === last.line && !isBroken(text)) {
      lines[line] = edited;
      return;
    }
    const added = cut(edited, lineStarts(edited), last.line + 1 < lines.length);
    if (added.length <= mostArguments) lines.splice(line, last.line - line + 1, ...added);
    else this.#lines = lines.slice(0, line).concat(added, lines.slice(last.line + 1));
  }

  /** The line of a position and the offset in that line; a position behind the end of its line or of the text is moved to that end. */
  #place(line: number, character: number): { readonly line: number; readonly column: number } {
    const lines = this.#lines;
    if (line < 0) return { line: 0, column: 0 };
    if (line >= lines.length) {
      return { line: lines.length - 1, column: (lines.at(-1) as string).length };
    }
    const text = lines[line] as string;
    const column = this.#encoding.advance(text, 0, contentLength(text), Math.max(0, character));
    return { line, column };
  }
}

/** The lines of a text; `isFollowed` leaves out the empty one behind a last line break, which others follow. */
function cut(text: string, starts: readonly number[], isFollowed = false): string[] {
  const lines = starts.map((start, i) => text.slice(start, starts[i + 1]));
  if (isFollowed) lines.pop();
  return lines;
}

function isBroken(text: string): boolean {
  return text.includes("\n") || text.includes("\r");
}

/** The length of a line without its line break. */
function contentLength(line: string): number {
  const last = line.length - 1;
  const code = line.charCodeAt(last);
  if (code === carriageReturn) return last;
  if (code !== lineFeed) return line.length;
  return line.charCodeAt(last - 1) === carriageReturn ? last - 1 : last;
}
