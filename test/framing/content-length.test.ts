import { describe, expect, test } from "vitest";
import { contentLengthFraming } from "../../src/framing/content-length.ts";
import { testFraming } from "./contract.ts";
import { bytesOf, inPieces, join, Recording, read, texts } from "./recording.ts";
import { measureWork } from "./work.ts";

testFraming({
  name: "content-length",
  framing: contentLengthFraming,
  start: (bytes) => bytesOf(`Content-Length: ${bytes}\r\n\r\n`),
  frame: (body) => join(`Content-Length: ${body.length}\r\n\r\n`, body),
  fragments: [
    "Content-Length: 2\r\n\r\n{}",
    "content-length:2\n\n[]",
    "Content-Length: 4\r\n\r\n",
    "Content-Length: 9\r\n\r\n123456789",
    "Content-Length: 600\r\n\r\n",
    "Content-Type: a/b; charset=utf-8\r\nContent-Length: 1\r\n\r\n1",
    "Content-Type: a/b; charset=latin1\r\nContent-Length: 1\r\n\r\n1",
    "Content-Length: ",
    "\r\n",
    "é",
    "12",
  ],
  oversizeIsFatal: false,
});

function readAnyhow(text: string | Uint8Array, maxMessageBytes?: number): string[] {
  const bytes = bytesOf(text);
  const whole = read(contentLengthFraming, [bytes], maxMessageBytes);
  expect(read(contentLengthFraming, inPieces(bytes, 1), maxMessageBytes)).toEqual(whole);
  expect(read(contentLengthFraming, inPieces(bytes, 11), maxMessageBytes)).toEqual(whole);
  return whole;
}

function messageOf(text: string): string | undefined {
  const recording = new Recording();
  contentLengthFraming.decoder({ maxMessageBytes: 1_024 }).push(bytesOf(text), recording);
  return recording.faults[0]?.message;
}

const next = "Content-Length: 1\r\n\r\n7";

describe("headers that are understood", () => {
  test.each([
    ["in lower case", "content-length: 2\r\n\r\n{}"],
    ["in upper case", "CONTENT-LENGTH: 2\r\n\r\n{}"],
    ["with LF alone", "Content-Length: 2\n\n{}"],
    ["with both line ends", "Content-Length: 2\n\r\n{}"],
    ["without a space", "Content-Length:2\r\n\r\n{}"],
    ["with more space", "Content-Length: \t 2 \t\r\n\r\n{}"],
    ["with leading zeros", "Content-Length: 0002\r\n\r\n{}"],
    [
      "with more leading zeros than a number has digits",
      `Content-Length: ${"0".repeat(40)}2\r\n\r\n{}`,
    ],
    [
      "behind a type",
      "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
    ],
    ["before a type", "Content-Length: 2\r\ncontent-type: application/json\r\n\r\n{}"],
    [
      "with the old name of the charset",
      "Content-Length: 2\r\nContent-Type: a/b; charset=utf8\r\n\r\n{}",
    ],
    [
      "with a charset in quotes and capitals",
      'Content-Length: 2\r\nContent-Type: a/b; v=1; Charset = "UTF-8"\r\n\r\n{}',
    ],
    ["with a header that nobody knows", "X-Trace: a:b\r\nContent-Length: 2\r\n\r\n{}"],
    ["with a charset in another header", "X: 1; charset=utf-16\r\nContent-Length: 2\r\n\r\n{}"],
    ["with an empty header", "X-Empty:\r\nContent-Length: 2\r\n\r\n{}"],
  ])("a header %s", (_, text) => {
    expect(readAnyhow(text + next)).toEqual(["text {}", "text 7"]);
  });

  test("a header of exactly 8 KiB", () => {
    const padding = "x".repeat(8_192 - "X: \nContent-Length: 2\n\n".length);
    expect(readAnyhow(`X: ${padding}\nContent-Length: 2\n\n{}${next}`)).toEqual([
      "text {}",
      "text 7",
    ]);
    expect(readAnyhow(`X: ${padding}x\nContent-Length: 2\n\n{}${next}`)).toEqual([
      "fatal malformed",
    ]);
  });

  test("a body of no bytes is a message without text", () => {
    expect(readAnyhow(`Content-Length: 0\r\n\r\ncontent-length: 0\r\n\r\n${next}`)).toEqual([
      "text ",
      "text ",
      "text 7",
    ]);
  });

  test("a body that looks like a header", () => {
    expect(readAnyhow(`Content-Length: 21\r\n\r\nContent-Length: 1\r\n\r\n${next}`)).toEqual([
      "text Content-Length: 1\r\n\r\n",
      "text 7",
    ]);
  });
});

describe("headers that end the stream", () => {
  test.each([
    ["a name with another first letter", "Xontent-Length: 1\r\n\r\n7", "missing"],
    ["a character after the digits", "Content-Length: 1:\r\n\r\n7", "number of bytes"],
    ["a negative length", "Content-Length: -5\r\n\r\n12345", "number of bytes"],
    ["a length with letters", "Content-Length: 5abc\r\n\r\n12345", "number of bytes"],
    ["a length with a sign", "Content-Length: +5\r\n\r\n12345", "number of bytes"],
    ["a length with a fraction", "Content-Length: 5.0\r\n\r\n12345", "number of bytes"],
    ["a length with an exponent", "Content-Length: 1e1\r\n\r\n1234567890", "number of bytes"],
    ["a hexadecimal length", "Content-Length: 0x5\r\n\r\n12345", "number of bytes"],
    ["two lengths in one header", "Content-Length: 5, 5\r\n\r\n12345", "number of bytes"],
    ["a length in digits of another script", "Content-Length: ٥\r\n\r\n12345", "number of bytes"],
    [
      "a length behind a space of another kind",
      "Content-Length:\u00a05\r\n\r\n12345",
      "number of bytes",
    ],
    ["a length with two CRs", "Content-Length: 5\r\r\n\r\n12345", "number of bytes"],
    ["a length of nothing but a space", "Content-Length: \r\n\r\n12345", "number of bytes"],
    ["a length and a comma", "Content-Length: 5,\n\r\n12345", "number of bytes"],
    ["a length and a broken line end", "Content-Length: 5\r;\r\n12345", "number of bytes"],
    ["an empty length", "Content-Length:\r\n\r\n12345", "number of bytes"],
    ["a doubled length", "Content-Length: 5\r\nContent-Length: 5\r\n\r\n12345", "twice"],
    ["two different lengths", "Content-Length: 5\r\ncontent-length: 6\r\n\r\n123456", "twice"],
    ["another doubled header", "X: 1\r\nContent-Length: 5\r\nx: 1\r\n\r\n12345", "twice"],
    ["a missing length", "Content-Type: application/json\r\n\r\n12345", "missing"],
    ["a header as long as the right one", "X-Other-Header: 5\r\n\r\n12345", "missing"],
    ["no header at all", "\r\n12345", "missing"],
    ["a header without a colon", "Content-Length 5\r\n\r\n12345", "form"],
    ["a header without a name", ": 5\r\n\r\n12345", "form"],
    ["a space before the colon", "Content-Length : 5\r\n\r\n12345", "form"],
    ["a name with a space before it", " X: 1\r\nContent-Length: 5\r\n\r\n12345", "form"],
    ["a line that is neither header nor blank", "Content-Length: 5\r\nX\n12345", "form"],
    ["a folded header", "X: 1\r\n 2\r\nContent-Length: 5\r\n\r\n12345", "form"],
    ["a line of JSON", '{"jsonrpc":"2.0","method":"a"}\n', "newline"],
    ["an HTTP request", "POST /rpc HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345", "form"],
  ])("%s", (_, text, reason) => {
    expect(readAnyhow(next + text + next)).toEqual(["text 7", "fatal malformed"]);
    expect(messageOf(text)).toContain(reason);
  });

  test("a header that is not UTF-8", () => {
    const bytes = join("X: ", new Uint8Array([0xff]), "\r\nContent-Length: 1\r\n\r\n7", next);
    expect(readAnyhow(bytes)).toEqual(["fatal malformed"]);
    const recording = new Recording();
    contentLengthFraming.decoder({ maxMessageBytes: 10 }).push(bytes, recording);
    expect(recording.faults[0]?.message).toBe("A header is not valid UTF-8.");
  });

  test("a header whose first byte arrived alone", () => {
    expect(read(contentLengthFraming, [bytesOf("X"), bytesOf(next)])).toEqual(["fatal malformed"]);
  });

  test("a wrong line is refused before the rest of the header arrives", () => {
    expect(messageOf('{"jsonrpc":"2.0"}\n')).toContain("newline");
  });

  test("a header that never ends is refused at 8 KiB", () => {
    expect(messageOf(`X: ${"x".repeat(8_189)}`)).toBeUndefined();
    expect(messageOf(`X: ${"x".repeat(8_190)}`)).toContain("8192 bytes");
    const lines = Array.from({ length: 2_000 }, (_, i) => `x${i}: 1\r\n`).join("");
    expect(readAnyhow(lines)).toEqual(["fatal malformed"]);
  });

  test.each([
    ["eleven digits", "99999999999", "fatal oversize"],
    ["400 digits", "9".repeat(400), "fatal oversize"],
    ["64 times the limit", "640", "oversize"],
    ["more than 64 times the limit", "641", "fatal oversize"],
  ])("a length of %s is too long", (_, length, expected) => {
    expect(readAnyhow(`Content-Length: ${length}\r\n\r\n12345`, 10)).toEqual([expected]);
    expect(readAnyhow(`content-length: ${length}\r\n\r\n12345`, 10)).toEqual([expected]);
  });
});

describe("frames that are passed over", () => {
  test.each(["Content-Length", "content-length"])("a body that is too long behind %s", (name) => {
    const text = `${name}: 30\r\n\r\n${next}12345678${next}`;
    expect(readAnyhow(text, 10)).toEqual(["oversize", "text 7"]);
  });

  test.each(["utf-16", "xutf-8", "utf-8x", "", '"'])("a body in the charset '%s'", (charset) => {
    const text = `Content-Type: a/b; charset=${charset}\r\nContent-Length: 2\r\n\r\n{}${next}`;
    expect(readAnyhow(text, 2)).toEqual(["malformed", "text 7"]);
    expect(messageOf(text)).toContain("utf-8");
  });

  test("a body in another charset that is also too long", () => {
    const header = "Content-Type: a/b; charset=utf-16\r\nContent-Length: ";
    expect(readAnyhow(`${header}12\r\n\r\n123456789012${next}`, 10)).toEqual([
      "oversize",
      "text 7",
    ]);
    expect(readAnyhow(`${header}641\r\n\r\n1`, 10)).toEqual(["fatal oversize"]);
  });

  test("the charset of one message does not apply to the next", () => {
    const text = "Content-Type: a/b; charset=x\nContent-Length: 1\n\n6content-length: 1\n\n7";
    expect(readAnyhow(text)).toEqual(["malformed", "text 7"]);
  });

  test("a stream that ends in a skipped body is reported once", () => {
    expect(readAnyhow("Content-Length: 30\r\n\r\n12345", 10)).toEqual(["oversize"]);
  });
});

test("the length counts the bytes of the text", () => {
  expect(contentLengthFraming.encode('"é😀"')).toBe('Content-Length: 8\r\n\r\n"é😀"');
});

test("a lone surrogate is counted as the replacement character that it becomes", () => {
  const text = String(contentLengthFraming.encode("\ud800x"));
  expect(text).toBe("Content-Length: 4\r\n\r\n\ud800x");
  expect(readAnyhow(text + next)).toEqual(texts(["\ufffdx", "7"]));
});

test("frames may be concatenated before they are written", () => {
  const text = `${contentLengthFraming.encode("é")}${contentLengthFraming.encode("2")}`;
  expect(readAnyhow(text)).toEqual(texts(["é", "2"]));
});

test("messages are found again after any mix of characters", () => {
  const list = Array.from({ length: 500 }, (_, i) => (i % 100 < 50 ? `"${i}"` : `"é${i}"`));
  const bytes = join(...list.map((text) => contentLengthFraming.encode(text)));
  for (const size of [1, 30, 100, 1_000, 100_000]) {
    expect(read(contentLengthFraming, inPieces(bytes, size))).toEqual(texts(list));
  }
});

test("headers of changing form do not make a chunk be decoded repeatedly", () => {
  const bytes = bytesOf("Content-Length: 1\r\n\r\n7content-length: 1\r\n\r\n7".repeat(2_000));
  const work = measureWork(() => {
    expect(read(contentLengthFraming, [bytes])).toHaveLength(4_000);
  });
  expect(work.decoded).toBeLessThan(2 * bytes.length);
  expect(work.searched).toBeLessThan(1.1 * bytes.length);
});

test("text that is not ASCII is hardly ever decoded twice", () => {
  const bytes = bytesOf(String(contentLengthFraming.encode(`"${"é".repeat(400)}"`)).repeat(1_000));
  const chunks = [...inPieces(bytes, 8_192)];
  const work = measureWork(() => {
    expect(read(contentLengthFraming, chunks)).toHaveLength(1_000);
  });
  expect(work.decoded).toBeLessThan(1.1 * bytes.length);
});

test("many short messages in one chunk cost one decoding", () => {
  const frames = Array.from({ length: 100 }, (_, i) => contentLengthFraming.encode("x".repeat(i)));
  const bytes = join(...frames);
  const work = measureWork(() => {
    expect(read(contentLengthFraming, [bytes])).toHaveLength(100);
  });
  expect(work).toEqual({ decodings: 1, decoded: bytes.length, copied: 0, searched: 0 });
});

test("a message that was cut costs one decoding more", () => {
  const bytes = bytesOf(`Content-Length: 10\r\n\r\n1234567890${next.repeat(100)}`);
  const chunks = [bytes.subarray(0, 25), bytes.subarray(25)];
  const work = measureWork(() => {
    expect(read(contentLengthFraming, chunks)).toHaveLength(101);
  });
  expect(work.decodings).toBe(2);
});

test("a peer that goes back to ASCII is read fast again", () => {
  const decoder = contentLengthFraming.decoder({ maxMessageBytes: 1_024 });
  const recording = new Recording();
  const ascii = bytesOf(next.repeat(100));
  decoder.push(bytesOf(contentLengthFraming.encode("é")), recording);
  for (let i = 0; i < 20; i++) decoder.push(ascii, recording);
  const work = measureWork(() => decoder.push(ascii, recording));
  expect(work.decodings).toBe(1);
  expect(recording.events).toHaveLength(2_101);
});
