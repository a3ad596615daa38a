import { EditedLines } from "./edited-lines.ts";
import { editedLineStarts, lineStarts } from "./line-starts.ts";
import type {
  DocumentUri,
  Position,
  Range,
  TextDocumentContentChangeEvent,
  TextDocumentItem,
  TextEdit,
} from "./model/structures.ts";
import { type PositionEncoding, positionEncodings } from "./position-encoding.ts";

/** Up to this many changes are made one by one; for more it pays to cut the text into lines. */
const fewChanges = 4;

/**
 * One version of a document. It never changes, so that a handler which waits for something keeps the text that its
 * positions belong to.
 * @example
 * ```ts
 * import { TextDocument } from "callwire/lsp";
 *
 * const document = new TextDocument({ uri: "file:///a.txt", languageId: "plain", version: 1, text: "a\nbc" });
 * console.log(document.offsetAt({ line: 1, character: 1 })); // 3
 * console.log(document.positionAt(3)); // { line: 1, character: 1 }
 * ```
 */
export class TextDocument implements TextDocumentItem {
  readonly uri: DocumentUri;
  readonly languageId: string;
  readonly version: number;
  readonly text: string;
  readonly #encoding: PositionEncoding;
  #starts: readonly number[] | undefined;

  constructor(
    item: TextDocumentItem,
    encoding: PositionEncoding = positionEncodings["utf-16"] as PositionEncoding,
    starts?: readonly number[],
  ) {
    this.uri = item.uri;
    this.languageId = item.languageId;
    this.version = item.version;
    this.text = item.text;
    this.#encoding = encoding;
    this.#starts = starts;
  }

  get lineCount(): number {
    return this.#lineStarts.length;
  }

  /** The text of a line without its line break; empty if there is no such line. */
  lineAt(line: number): string {
    const start = this.#lineStarts[line];
    return start === undefined ? "" : this.text.slice(start, this.#contentEnd(line));
  }

  /** The offset of a position in `text`. A position behind the end of its line or of the document is at that end. */
  offsetAt({ line, character }: Position): number {
    const start = this.#lineStarts[line];
    if (start === undefined) return line < 0 ? 0 : this.text.length;
    if (character <= 0) return start;
    return this.#encoding.advance(this.text, start, this.#contentEnd(line), character);
  }

  /** The position of an offset in `text`; an offset within a line break is before it. */
  positionAt(offset: number): Position {
    const at = Math.max(0, Math.min(offset, this.text.length));
    const line = this.#lineOf(at);
    const start = this.#lineStarts[line] as number;
    const end = Math.min(at, this.#contentEnd(line));
    return { line, character: this.#encoding.count(this.text, start, end) };
  }

  /** The range between two offsets. */
  rangeAt(start: number, end: number): Range {
    return { start: this.positionAt(start), end: this.positionAt(end) };
  }

  textIn(range: Range): string {
    const [start, end] = this.#offsets(range);
    return this.text.slice(start, end);
  }

  /** The document after changes that the client made, in their order. */
  changed(changes: readonly TextDocumentContentChangeEvent[], version: number): TextDocument {
    if (changes.length > fewChanges) {
      const lines = new EditedLines(this.text, this.#lineStarts, this.#encoding);
      for (const change of changes) lines.change(change);
      return this.#as(lines.text, version, lines.starts);
    }
    let document: TextDocument = this;
    for (const change of changes) document = document.#changed(change, version);
    return document === this ? this.#as(this.text, version, this.#starts) : document;
  }

  /** The text after edits, whose ranges all refer to this version and may not overlap. */
  edited(edits: readonly TextEdit[]): string {
    const sorted = edits
      .map(({ range, newText }) => ({ offsets: this.#offsets(range), newText }))
      .sort((a, b) => a.offsets[0] - b.offsets[0]);
    let text = "";
    let from = 0;
    for (const { offsets, newText } of sorted) {
      if (offsets[0] < from) throw new RangeError("the edits overlap");
      text += this.text.slice(from, offsets[0]) + newText;
      from = offsets[1];
    }
    return text + this.text.slice(from);
  }

  #changed(change: TextDocumentContentChangeEvent, version: number): TextDocument {
    if (!("range" in change)) return this.#as(change.text, version);
    const [start, end] = this.#offsets(change.range);
    const text = this.text.slice(0, start) + change.text + this.text.slice(end);
    const edit = {
      firstLine: this.#lineOf(start),
      lastLine: this.#lineOf(end),
      growth: change.text.length - (end - start),
    };
    return this.#as(text, version, editedLineStarts(this.#lineStarts, text, edit));
  }

  #as(text: string, version: number, starts?: readonly number[]): TextDocument {
    const { uri, languageId } = this;
    return new TextDocument({ uri, languageId, version, text }, this.#encoding, starts);
  }

  get #lineStarts(): readonly number[] {
    this.#starts ??= lineStarts(this.text);
    return this.#starts;
  }

  /** The line that contains an offset. */
  #lineOf(offset: number): number {
    const starts = this.#lineStarts;
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((starts[middle] as number) <= offset) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Where the line break of a line begins. */
  #contentEnd(line: number): number {
    const next = this.#lineStarts[line + 1];
    if (next === undefined) return this.text.length;
    const isPair = this.text[next - 1] === "\n" && this.text[next - 2] === "\r";
    return next - (isPair ? 2 : 1);
  }

  /** Start and end, in this order even if the range has them the other way round. */
  #offsets({ start, end }: Range): [number, number] {
    const from = this.offsetAt(start);
    const to = this.offsetAt(end);
    return from <= to ? [from, to] : [to, from];
  }
}
