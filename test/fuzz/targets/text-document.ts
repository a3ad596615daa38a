import { type PositionEncoding, positionEncodings } from "../../../src/lsp/position-encoding.ts";
import { TextDocument } from "../../../src/lsp/text-document.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";

interface Place {
  readonly line: number;
  readonly character: number;
}

interface Change {
  readonly range?: { readonly start: Place; readonly end: Place };
  readonly text: string;
}

interface Input {
  readonly encoding: "utf-8" | "utf-16" | "utf-32";
  readonly text: string;
  readonly changes: readonly Change[];
}

/** The edits of an editor, at positions that may not exist. */
export const textDocument = fuzzTarget<Input>({
  holds:
    "after any changes the text is that of a naive editor, alone and in one notification, and lines and positions are those of the text",
  briefly: 12_000,
  reaches: ["changed"],
  generate: (random) => ({
    encoding: random.pick(["utf-16", "utf-8", "utf-32"] as const),
    text: text(random),
    changes: random.some(12, () => change(random)),
  }),
  check({ encoding, text, changes }) {
    const form = positionEncodings[encoding] as PositionEncoding;
    const item = { uri: "file:///a", languageId: "x", version: 1, text };
    const before = new TextDocument(item, form);
    const together = before.changed(changes as never, 2);
    const alone = changes.reduce((document, each) => document.changed([each as never], 2), before);
    const wanted = changes.reduce((now, each) => changed(now, each, encoding), text);
    for (const document of [together, alone]) {
      if (document.text !== wanted) broken("another text", { given: document.text, wanted });
      const lines = linesOf(wanted).map((line) => line.replace(/[\r\n]+$/, ""));
      const given = Array.from({ length: document.lineCount }, (_, i) => document.lineAt(i));
      if (JSON.stringify(given) !== JSON.stringify(lines)) broken("other lines", { given, lines });
      checkPositions(document);
    }
    return "changed";
  },
});

/** The offset of a position is where it was, unless that is within a character or a line break. */
function checkPositions(document: TextDocument): void {
  for (let offset = 0; offset <= document.text.length; offset += 3) {
    const again = document.offsetAt(document.positionAt(offset));
    const between = document.text.slice(Math.min(again, offset), Math.max(again, offset));
    const isSame = again === offset || /^(?:\r|\n|[\ud800-\udbff])$/.test(between);
    if (!isSame) broken("another position", { offset, again });
  }
}

/** The lines with their breaks. */
function linesOf(text: string): string[] {
  const lines = text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
  return lines.length === 0 || /[\r\n]$/.test(text) ? [...lines, ""] : lines;
}

function changed(text: string, { range, text: added }: Change, encoding: string): string {
  if (range === undefined) return added;
  const places = [range.start, range.end].map((place) => offsetOf(text, place, encoding));
  const [start = 0, end = 0] = places.sort((a, b) => a - b);
  return text.slice(0, start) + added + text.slice(end);
}

function offsetOf(text: string, { line, character }: Place, encoding: string): number {
  const lines = linesOf(text);
  if (line >= lines.length) return text.length;
  const content = (lines[line] as string).replace(/[\r\n]+$/, "");
  const start = lines.slice(0, line).join("").length;
  let units = 0;
  let offset = 0;
  for (const each of content) {
    const size =
      encoding === "utf-8" ? Buffer.byteLength(each) : encoding === "utf-16" ? each.length : 1;
    if (encoding === "utf-16" ? units >= character : units + size > character) break;
    // A position of UTF-16 may be within a character.
    const step = encoding === "utf-16" ? Math.min(each.length, character - units) : each.length;
    units += size;
    offset += step;
  }
  return start + offset;
}

const parts = ["a", "bc", "\n", "\r\n", "\r", "é", "🙂", " ", "\u2028", "x".repeat(20), "世"];

function text(random: Random): string {
  return random.some(12, () => random.pick(parts)).join("");
}

function place(random: Random): Place {
  return { line: random.below(6), character: random.oneIn(10) ? 1_000 : random.below(8) };
}

function change(random: Random): Change {
  if (random.oneIn(15)) return { text: text(random) };
  const [start, end] = [place(random), place(random)];
  const added = random.some(3, () => random.pick(parts)).join("");
  return { range: { start, end: random.oneIn(2) ? start : end }, text: added };
}
