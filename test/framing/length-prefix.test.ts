import { expect, test } from "vitest";
import { lengthPrefixFraming } from "../../src/framing/length-prefix.ts";
import { testFraming } from "./contract.ts";
import { bytesOf, inPieces, join, read } from "./recording.ts";

function prefix(length: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, length);
  return bytes;
}

testFraming({
  name: "length-prefix",
  framing: lengthPrefixFraming,
  start: prefix,
  frame: (body) => join(prefix(body.length), body),
  fragments: [prefix(0), prefix(1), prefix(2), prefix(8), prefix(9), "{}", "é", "\0"],
  oversizeIsFatal: true,
});

test("the length is four bytes, the highest first", () => {
  expect(lengthPrefixFraming.encode("é".repeat(0x8182)).slice(0, 5)).toEqual(
    new Uint8Array([0, 1, 3, 4, 0xc3]),
  );
  const frame = lengthPrefixFraming.encodeBytes?.(new Uint8Array(0x1020304));
  expect(frame?.subarray(0, 5)).toEqual(new Uint8Array([1, 2, 3, 4, 0]));
});

test("a lone surrogate leaves as the replacement character and is counted as it", () => {
  expect(lengthPrefixFraming.encode("\ud800")).toEqual(join(prefix(3), "\ufffd"));
});

test("a frame of no bytes is a message without text", () => {
  expect(read(lengthPrefixFraming, [join(prefix(0), prefix(1), "1", prefix(0))])).toEqual([
    "text ",
    "text 1",
    "text ",
  ]);
});

test.each([
  ["an HTTP request", "GET / HTTP/1.1\r\n\r\n"],
  ["a line of JSON", '{"jsonrpc":"2.0"}\n'],
  ["the largest length", new Uint8Array([255, 255, 255, 255])],
  ["a length with its highest bit set", new Uint8Array([128, 0, 0, 1, 49])],
])("%s is cut as a length that is too long", (_, bytes) => {
  expect(read(lengthPrefixFraming, [bytesOf(bytes)])).toEqual(["fatal oversize"]);
  expect(read(lengthPrefixFraming, inPieces(bytesOf(bytes), 1))).toEqual(["fatal oversize"]);
});

test("nothing is read after a length that is too long", () => {
  const bytes = join(prefix(2_000_000), prefix(1), "1", prefix(9));
  expect(read(lengthPrefixFraming, [bytes])).toEqual(["fatal oversize"]);
  expect(read(lengthPrefixFraming, inPieces(bytes, 1))).toEqual(["fatal oversize"]);
});
