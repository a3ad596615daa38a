import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeUtf8, utf8Length } from "../../src/framing/utf8.ts";

const unit = fc.oneof(
  fc.constantFrom("a", "\x7f", "\x80", "\u07ff", "\u0800", "\uffff", "😀", "\ud800", "\udfff"),
  fc.string({ unit: "binary", maxLength: 3 }),
);

test("the length of any text is that of its bytes", () => {
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      const text = units.join("");
      expect(utf8Length(text)).toBe(Buffer.byteLength(text));
    }),
    { numRuns: 1_000 },
  );
});

test("the length of a long text is right wherever its characters lie", () => {
  const pattern = fc.array(unit, { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(
      pattern,
      fc.nat({ max: 9 }),
      fc.integer({ min: 8_180, max: 20_000 }),
      (units, shift, chars) => {
        const text = ("x".repeat(shift) + units.join("").repeat(chars)).slice(0, chars);
        expect(utf8Length(text)).toBe(Buffer.byteLength(text));
      },
    ),
    { numRuns: 300 },
  );
});

test("the length of a long text is right where a pair of surrogates is cut", () => {
  for (const pair of ["\ud800\udc00", "\ud800\udfff", "\udbff\udc00", "\udbff\udfff"]) {
    for (const before of [8_190, 8_191, 8_192]) {
      expect(utf8Length("x".repeat(before) + pair)).toBe(before + 4);
    }
  }
});

test("a range of bytes is decoded alone", () => {
  const bytes = new Uint8Array([0xff, 0x61, 0xc3, 0xa9, 0xff]);
  expect(decodeUtf8(bytes, 1, 4)).toBe("aé");
  expect(decodeUtf8(bytes, 1, 3)).toBeUndefined();
  expect(decodeUtf8(bytes, 0, 5)).toBeUndefined();
  expect(decodeUtf8(bytes, 2, 2)).toBe("");
});
