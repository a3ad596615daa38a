import { TextDocument } from "callwire/lsp";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { describeWith } from "../services.ts";

const uri = "file:///a";
const texts = fc
  .array(fc.constantFrom("a", "é", "漢", "🚀", "\n", "\r\n", "\r", "\ud83d"), { maxLength: 30 })
  .map((parts) => parts.join(""));
const positions = fc.record({ line: fc.nat(12), character: fc.nat(12) });

describeWith(["npm peers"], "vscode-languageserver-textdocument", () => {
  let theirs: typeof import("vscode-languageserver-textdocument").TextDocument;

  beforeAll(async () => {
    theirs = (await import("vscode-languageserver-textdocument")).TextDocument;
  });

  const ours = (text: string) => new TextDocument({ uri, languageId: "plain", version: 1, text });
  const other = (text: string) => theirs.create(uri, "plain", 1, text);

  test("has the same positions and offsets", () => {
    fc.assert(
      fc.property(texts, positions, fc.integer({ min: -2, max: 40 }), (text, position, offset) => {
        expect(ours(text).offsetAt(position)).toBe(other(text).offsetAt(position));
        expect(ours(text).positionAt(offset)).toEqual(other(text).positionAt(offset));
        expect(ours(text).lineCount).toBe(other(text).lineCount);
      }),
      { numRuns: 2_000 },
    );
  });

  // After several changes that split and join \r\n, theirs counts lines that are not there.
  test("has the same text after a change", () => {
    fc.assert(
      fc.property(texts, positions, positions, texts, (before, start, end, text) => {
        const range = { start, end };
        const changed = ours(before).changed([{ range, text }], 2);
        const expected = theirs.update(other(before), [{ range, text }], 2);
        expect(changed.text).toBe(expected.getText());
        expect(changed.textIn(range)).toBe(theirs.create(uri, "", 2, expected.getText()).getText(range));
      }),
      { numRuns: 2_000 },
    );
  });
});
