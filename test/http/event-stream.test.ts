import { describe, expect, test } from "vitest";
import {
  EventStreamDecoder,
  eventText,
  keepAliveText,
  type StreamEvent,
} from "../../src/http/event-stream.ts";

function decode(
  chunks: Iterable<Uint8Array>,
  decoder = new EventStreamDecoder(1000),
): StreamEvent[] {
  const found: StreamEvent[] = [];
  for (const chunk of chunks) decoder.push(chunk, (event) => found.push(event));
  return found;
}

const whole = (text: string) => [Buffer.from(text)];
const datas = (text: string) => decode(whole(text)).map(({ data }) => data);

describe("events", () => {
  test("written events are read", () => {
    const text = eventText('{"a":1}') + keepAliveText + eventText('"é😀"', "s.1") + eventText("3");
    expect(decode(whole(text))).toEqual([
      { data: '{"a":1}', id: "" },
      { data: '"é😀"', id: "s.1" },
      { data: "3", id: "s.1" },
    ]);
  });

  test.each<[string, string[]]>([
    ["data:a\n\n", ["a"]],
    ["data:  a\n\n", [" a"]],
    ["data: a\ndata: b\n\n", ["a\nb"]],
    ["data\n\n", [""]],
    ["data:\ndata:\n\n", ["\n"]],
    ["data: a\r\n\r\n", ["a"]],
    ["data: a\r\r", ["a"]],
    ["data: a\r\n\rdata: b\n\r\n", ["a", "b"]],
    ["data: a: b\n\n", ["a: b"]],
    ["\u{feff}data: a\n\n", ["a"]],
    ["data: \u{feff}a\n\n", ["\u{feff}a"]],
    [": comment\n\n", []],
    ["\n\n\n", []],
    ["event: x\nid: 1\nretry: 5\n\n", []],
    ["event: x\ndata: a\n\n", ["a"]],
    ["Data: a\n\n", []],
    [" data: a\n\n", []],
    ["data: unfinished\n", []],
    ["data: unfinished", []],
  ])("%j holds %j", (text, expected) => {
    expect(datas(text)).toEqual(expected);
  });

  test("an id counts from the end of its event on, so that none is missed after a cut", () => {
    const decoder = new EventStreamDecoder(1000);
    decode(whole("id: 1\ndata: a\n\nid: 2\ndata: b\n"), decoder);
    expect(decoder.lastId).toBe("1");
    decode(whole("\n"), decoder);
    expect(decoder.lastId).toBe("2");
    decode(whole("id: 3\n\n"), decoder);
    expect(decoder.lastId).toBe("3");
    decode(whole("id: a\0b\n\n"), decoder);
    expect(decoder.lastId).toBe("3");
    decode(whole("id\n\n"), decoder);
    expect(decoder.lastId).toBe("");
    expect(new EventStreamDecoder(10, "from before").lastId).toBe("from before");
  });

  test("the time to wait is a number or nothing", () => {
    const decoder = new EventStreamDecoder(1000);
    decode(whole("retry: x\nretry: -1\nretry: 1.5\n"), decoder);
    expect(decoder.retryMs).toBeUndefined();
    decode(whole("retry: 250\n"), decoder);
    expect(decoder.retryMs).toBe(250);
  });
});

test("cutting the bytes anywhere changes nothing", () => {
  const text = "\u{feff}id: é\r\ndata: 世😀\r\ndata: b\r\n\r\n: c\r\rdata: x\n\ndata: \r\n\r\n";
  const bytes = Buffer.from(text);
  const expected = decode([bytes]);
  expect(expected).toHaveLength(3);
  for (let at = 0; at <= bytes.length; at++) {
    expect(decode([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected);
  }
  expect(decode(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(expected);
});

describe("limits", () => {
  test("an event of the limit is read, and a longer one is refused before it ends", () => {
    const decoder = () => new EventStreamDecoder(20);
    expect(decode(whole(`data: ${"x".repeat(14)}\n\n`), decoder())).toHaveLength(1);
    const refused = { name: "WireError", code: "BAD_REPLY" };
    for (const text of [
      `data: ${"x".repeat(15)}`,
      `data: ${"x".repeat(8)}\n`.repeat(2),
      "x".repeat(21),
    ]) {
      expect(() => decode(whole(text), decoder())).toThrow(expect.objectContaining(refused));
    }
  });

  test("skipped bytes do not count", () => {
    const text = `${": comment\nid: 12345\nevent: x\n".repeat(10)}data: a\n\n`.repeat(5);
    expect(decode(whole(text), new EventStreamDecoder(20))).toHaveLength(5);
  });

  test("bytes that are not UTF-8 are refused", () => {
    expect(() => decode([Uint8Array.of(0x64, 0xff)])).toThrow(
      expect.objectContaining({ code: "BAD_REPLY" }),
    );
  });

  test("a long event in small chunks is read without looking at its beginning again", () => {
    // Searching again with every chunk would take a hundred thousand times as long, and time out.
    const bytes = 2 ** 24;
    const decoder = new EventStreamDecoder(Number.MAX_SAFE_INTEGER);
    const chunk = Buffer.from("x".repeat(64));
    decode([Buffer.from("data: ")], decoder);
    for (let i = 0; i < bytes / 64; i++) decode([chunk], decoder);
    expect(decode(whole("\n\n"), decoder)[0]?.data).toHaveLength(bytes);
  });
});
