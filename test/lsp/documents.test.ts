import { TextDocument, type TextDocumentContentChangeEvent } from "callwire/lsp";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { positionEncodings } from "../../src/lsp/position-encoding.ts";

const uri = "file:///a";
const documentOf = (text: string) =>
  new TextDocument({ uri, languageId: "plain", version: 1, text });

/** Texts of everything that is hard to count: surrogate pairs, halves of them, and line breaks of every kind. */
const texts = fc
  .array(fc.constantFrom("a", "é", "漢", "🚀", "\ud83d", "\n", "\r\n", "\r", ""), { maxLength: 30 })
  .map((parts) => parts.join(""));

const positions = fc.record({ line: fc.nat(12), character: fc.nat(12) });

describe("positions", () => {
  test.each([
    ["a\nb", 2, { line: 1, character: 0 }],
    ["a\r\nb", 1, { line: 0, character: 1 }],
    ["a\r\nb", 2, { line: 0, character: 1 }],
    ["a\r\nb", 3, { line: 1, character: 0 }],
    ["a\rb", 2, { line: 1, character: 0 }],
    ["🚀b", 2, { line: 0, character: 2 }],
    ["ab", 9, { line: 0, character: 2 }],
    ["ab", -1, { line: 0, character: 0 }],
  ])("in %j, offset %i is %j", (text, offset, position) => {
    expect(documentOf(text).positionAt(offset)).toEqual(position);
  });

  test.each([
    ["a\nb", { line: 5, character: 0 }, 3],
    ["a\nb", { line: -1, character: 3 }, 0],
    ["ab\nc", { line: 0, character: 9 }, 2],
    ["ab\r\nc", { line: 0, character: 3 }, 2],
    ["ab", { line: 0, character: -2 }, 0],
  ])("in %j, %j is at offset %i", (text, position, offset) => {
    expect(documentOf(text).offsetAt(position)).toBe(offset);
  });

  test("an offset outside of line breaks equals the offset of its position", () => {
    fc.assert(
      fc.property(texts, fc.nat(40), (text, offset) => {
        const document = documentOf(text);
        const at = Math.min(offset, text.length);
        const isWithin = text[at - 1] === "\r" && text[at] === "\n";
        expect(document.offsetAt(document.positionAt(at))).toBe(isWithin ? at - 1 : at);
      }),
    );
  });

  test.each([
    ["utf-8", (text: string) => new TextEncoder().encode(text).length],
    ["utf-32", (text: string) => Array.from(text).length],
  ])("are counted in %s", (name, unitsOf) => {
    fc.assert(
      fc.property(texts, fc.nat(40), (text, offset) => {
        const item = { uri, languageId: "plain", version: 1, text };
        const document = new TextDocument(item, positionEncodings[name]);
        const position = document.positionAt(offset);
        // The text of the line up to the offset, without the first half of a surrogate pair.
        const { line, character } = documentOf(text).positionAt(offset);
        const whole = documentOf(text).lineAt(line);
        const isSplit = (whole.codePointAt(character - 1) ?? 0) > 0xffff;
        const before = whole.slice(0, isSplit ? character - 1 : character);
        expect(position).toEqual({ line, character: unitsOf(before) });
        const start = documentOf(text).offsetAt({ line, character: 0 });
        expect(document.offsetAt(position)).toBe(start + before.length);
      }),
      { numRuns: 500 },
    );
  });

  test("lines are those between line breaks", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const document = documentOf(text);
        const lines = Array.from({ length: document.lineCount }, (_, line) =>
          document.lineAt(line),
        );
        expect(lines).toEqual(text.split(/\r\n|\r|\n/));
        expect(document.lineAt(document.lineCount)).toBe("");
      }),
    );
  });
});

describe("changes", () => {
  const changes = fc.array(
    fc.record({ range: fc.record({ start: positions, end: positions }), text: texts }),
    {
      maxLength: 9,
    },
  );

  test("give the same lines as a document that is read from scratch", () => {
    fc.assert(
      fc.property(texts, changes, (text, made) => {
        const document = documentOf(text).changed(made, 2);
        const anew = documentOf(document.text);
        expect(document.lineCount).toBe(anew.lineCount);
        for (let offset = 0; offset <= anew.text.length; offset++) {
          expect(document.positionAt(offset)).toEqual(anew.positionAt(offset));
        }
      }),
      { numRuns: 500 },
    );
  });

  test("made together are the same as made one by one", () => {
    fc.assert(
      fc.property(texts, changes, (text, made) => {
        const together = documentOf(text).changed(made, 2);
        const single = made.reduce(
          (document, each) => document.changed([each], 2),
          documentOf(text),
        );
        expect(together.text).toBe(single.text);
        expect(together.lineCount).toBe(single.lineCount);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each<[before: string, change: TextDocumentContentChangeEvent, after: string, lines: number]>(
    [
      ["a\rb", { range: rangeOf(1, 0, 1, 0), text: "\n" }, "a\r\nb", 2],
      ["a\nb", { range: rangeOf(0, 1, 0, 1), text: "\r" }, "a\r\nb", 2],
      ["a\nb", { range: rangeOf(0, 0, 1, 1), text: "" }, "", 1],
      ["a\nb", { range: rangeOf(1, 1, 0, 1), text: "-" }, "a-", 1],
      ["a\nb", { text: "x\ny\nz" }, "x\ny\nz", 3],
    ],
  )("%j with %j is %j", (before, change, after, lines) => {
    const document = documentOf(before).changed([change], 2);
    expect([document.text, document.lineCount, document.version]).toEqual([after, lines, 2]);
  });

  test("may insert more lines than a function call takes arguments", () => {
    const typed = Array.from({ length: 5 }, () => ({ range: rangeOf(0, 0, 0, 0), text: "a" }));
    const pasted = { range: rangeOf(0, 5, 0, 5), text: "\n".repeat(200_000) };
    const document = documentOf("x\ny").changed([...typed, pasted], 2);
    expect([document.lineCount, document.text.length]).toEqual([200_002, 200_008]);
    expect([document.lineAt(0), document.lineAt(200_000), document.lineAt(200_001)]).toEqual([
      "aaaaa",
      "x",
      "y",
    ]);
  });

  test("without content raise the version only", () => {
    const document = documentOf("a").changed([], 7);
    expect([document.text, document.version]).toEqual(["a", 7]);
  });
});

describe("edits", () => {
  test("all refer to the text before", () => {
    const document = documentOf("one two");
    const edits = [
      { range: rangeOf(0, 4, 0, 7), newText: "2" },
      { range: rangeOf(0, 0, 0, 3), newText: "1" },
    ];
    expect(document.edited(edits)).toBe("1 2");
    expect(document.text).toBe("one two");
  });

  test("that overlap are refused", () => {
    const edits = [
      { range: rangeOf(0, 0, 0, 2), newText: "" },
      { range: rangeOf(0, 1, 0, 3), newText: "" },
    ];
    expect(() => documentOf("abc").edited(edits)).toThrow("the edits overlap");
  });
});

function rangeOf(line: number, character: number, endLine: number, endCharacter: number) {
  return { start: { line, character }, end: { line: endLine, character: endCharacter } };
}
