import { expect, test } from "vitest";
import { headerValue, readHeaderValue } from "../../src/mcp/header-values.ts";

test.each(["plain", "with spaces", "größer 漢字 🚀", " at an end", "=?base64?no?=", ""])(
  "%j is read as it was written",
  (value) => {
    expect(readHeaderValue(headerValue(value))).toBe(value);
  },
);

test("spaces around a value are not part of it", () => {
  expect(readHeaderValue(" \t echo echo\t ")).toBe("echo echo");
});

// Searching for the end again at each space would take hours.
test("a value of a million spaces is read at once", () => {
  const value = `echo${" ".repeat(1_000_000)}echo`;
  expect(readHeaderValue(`  ${value}  `)).toBe(value);
});
