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

  test("has the same text and lines after changes", () => {
    const change = fc.record({
      range: fc.record({ start: positions, end: positions }),
      text: texts,
    });
    fc.assert(
      fc.property(texts, fc.array(change, { maxLength: 9 }), (before, changes) => {
        const changed = ours(before).changed(changes, 2);
        // Starts again for each change: after one behind the end of the text, theirs has wrong
        // lines.
        const expected = changes.reduce(
          (text, each) => theirs.update(other(text), [each], 2).getText(),
          before,
        );
        expect(changed.text).toBe(expected);
        const anew = other(changed.text);
        expect(changed.lineCount).toBe(anew.lineCount);
        for (let at = 0; at <= changed.text.length; at++) {
          expect(changed.positionAt(at)).toEqual(anew.positionAt(at));
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
