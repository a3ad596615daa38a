import { contentLengthFraming, lengthPrefixFraming, newlineFraming } from "callwire/framing";
import { expect, test } from "vitest";
import { framingOf } from "../../src/framing/framing-choice.ts";

test("a framing is chosen by its name, and newlines otherwise", () => {
  expect(framingOf()).toBe(newlineFraming);
  expect(framingOf("newline")).toBe(newlineFraming);
  expect(framingOf("content-length")).toBe(contentLengthFraming);
  expect(framingOf("length-prefix")).toBe(lengthPrefixFraming);
  const own = { ...newlineFraming };
  expect(framingOf(own)).toBe(own);
  expect(() => framingOf("zip" as never)).toThrow(
    'unknown framing "zip"; known are newline, content-length, length-prefix',
  );
});
