import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { newlineFraming } from "../../src/framing/newline.ts";
import { testFraming } from "./contract.ts";
import { bytesOf, inPieces, join, read, texts } from "./recording.ts";
import { measureWork } from "./work.ts";

testFraming({
  name: "newline",
  framing: newlineFraming,
  start: () => new Uint8Array(0),
  frame: (body) => join(body, "\n"),
  fragments: ["{}\n", "{}\r\n", "\n", "\r", "\r\n", " ", "\t\n", "12345678", "123456789\n", "é"],
  oversizeIsFatal: false,
});

function readAnyhow(text: string, maxMessageBytes?: number): string[] {
  const whole = read(newlineFraming, [bytesOf(text)], maxMessageBytes);
  expect(read(newlineFraming, inPieces(bytesOf(text), 1), maxMessageBytes)).toEqual(whole);
  return whole;
}

test("a CR before the LF is dropped, and only one", () => {
  expect(readAnyhow("1\r\n2\n[\r]\r\r\n")).toEqual(texts(["1", "2", "[\r]\r"]));
});

test("blank lines are ignored", () => {
  expect(readAnyhow("\n\r\n1\n\n \t\r\n\r\n2\n  \n")).toEqual(texts(["1", "2"]));
});

test("a line with only a byte order mark is not blank", () => {
  expect(readAnyhow("\ufeff\n")).toEqual(texts(["\ufeff"]));
});

test("a Content-Length header or an HTTP status line ends the stream, and a line that resembles one does not", () => {
  for (const header of ["Content-Length: 2", "content-length:2"]) {
    expect(readAnyhow(`1\n${header}\r\n\r\n{}\n2\n`)).toEqual(["text 1", "fatal malformed"]);
  }
  expect(readAnyhow("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n")).toEqual([
    "fatal malformed",
  ]);
  const others = ["HTTP/1", "Content-Length: x", "Content-Length: 2 {}", "Content", "c"];
  expect(readAnyhow(`${others.join("\n")}\n`)).toEqual(texts(others));
});

test("white space around a message stays", () => {
  expect(readAnyhow("  1 \n\t2\n")).toEqual(texts(["  1 ", "\t2"]));
});

test("a stream may end in blanks", () => {
  expect(readAnyhow("1\n \r")).toEqual(texts(["1"]));
});

test("a whole message at the end of the stream needs no LF", () => {
  expect(readAnyhow('1\n{"a":1} ')).toEqual(texts(["1", '{"a":1} ']));
  expect(readAnyhow("[1]")).toEqual(texts(["[1]"]));
});

test("a stream that ends in half a character ends in the middle of a message", () => {
  expect(read(newlineFraming, [new Uint8Array([0xe2])])).toEqual(["fatal truncated"]);
});

test("the end of the line does not count as a part of the message", () => {
  expect(readAnyhow("1234\r\n12345\r\n1234\n12345\n", 4)).toEqual([
    "text 1234",
    "oversize",
    "text 1234",
    "oversize",
  ]);
});

test("a line that is too long and never ends is reported once", () => {
  expect(readAnyhow("1\n12345", 4)).toEqual(["text 1", "oversize"]);
});

test("a chunk longer than the limit may hold many messages", () => {
  const list = Array.from({ length: 50 }, (_, id) => `{"é":${id}}`);
  expect(readAnyhow(`${list.join("\n")}\n`, 16)).toEqual(texts(list));
});

test("the length of an incomplete line does not include the lines before it", () => {
  const chunks = [bytesOf("1\n2\n34"), bytesOf("56\n"), bytesOf("7\n89")];
  expect(read(newlineFraming, [...chunks, bytesOf("012\n")], 4)).toEqual([
    ...texts(["1", "2", "3456", "7"]),
    "oversize",
  ]);
});

test("a message that was laid out over several lines leaves as one", () => {
  const pretty = JSON.stringify({ a: "1\n2\r3", b: [1, 2] }, null, 2).replace("[", "\r\n[");
  const line = newlineFraming.encode(pretty);
  expect(line).toMatch(/^[^\r\n]*\n$/);
  expect(JSON.parse(String(line))).toEqual({ a: "1\n2\r3", b: [1, 2] });
});

test("messages that a line break separates stay separate", () => {
  expect(newlineFraming.encode("1\n2\r3")).toBe("1 2 3\n");
});

test("many lines in one chunk cost one decoding", () => {
  const lines = bytesOf('{"é":1}\n'.repeat(1_000));
  const work = measureWork(() => {
    expect(read(newlineFraming, [lines], lines.length)).toHaveLength(1_000);
  });
  expect(work.decodings).toBe(1);
});

test("a line that was cut costs one decoding more", () => {
  const lines = bytesOf('{"é":1}\n'.repeat(1_000));
  const chunks = [lines.subarray(0, 3), lines.subarray(3)];
  const work = measureWork(() => {
    expect(read(newlineFraming, chunks, lines.length)).toHaveLength(1_000);
  });
  expect(work.decodings).toBe(2);
});

test("characters at which other readers break a line leave as escapes", () => {
  const value = { text: "a\u2028b\u2029c\u2028d" };
  const line = newlineFraming.encode(JSON.stringify(value));
  expect(line).toBe('{"text":"a\\u2028b\\u2029c\\u2028d"}\n');
  expect(JSON.parse(String(line))).toEqual(value);
});

test("a message is one line for Node's readline on every version", async () => {
  const value = ["\u2028\u2029", "\u0085\v\f", "\n\r"];
  const lines: string[] = [];
  const input = Readable.from([newlineFraming.encode(JSON.stringify(value, null, 1))]);
  for await (const line of createInterface({ input })) lines.push(line);
  expect(lines.map((line) => JSON.parse(line))).toEqual([value]);
});

test("lines may be concatenated before they are written", () => {
  const text = `${newlineFraming.encode("1")}${newlineFraming.encode("2")}`;
  expect(readAnyhow(text)).toEqual(texts(["1", "2"]));
});

test("messages that are written together are a line each, also if one has line breaks", () => {
  for (const [texts, lines] of [
    [["{}"], "{}\n"],
    [["{}", "[]"], "{}\n[]\n"],
    [["{\n}"], "{ }\n"],
    [["{}\n", "[]"], "{} \n[]\n"],
    [["{\n}", "[\r\n]"], "{ }\n[  ]\n"],
    [['"\u2028"', '"\u2029"'], '"\\u2028"\n"\\u2029"\n'],
  ] as const) {
    expect(newlineFraming.encodeAll(texts)).toBe(lines);
  }
});
