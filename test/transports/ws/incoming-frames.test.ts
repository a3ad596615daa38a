import { describe, expect, test } from "vitest";
import { IncomingFrames, textFrames } from "../../../src/transports/ws/frames.ts";
import { frame } from "./bare-socket.ts";

const text = 0x01;
const more = 0x00;
const last = 0x80;
const pong = 0x8a;

describe.each([true, false])("frames with a mask: %s", (masked) => {
  const size = masked ? 6 : 2;

  test.each([1, 2, 3, 7, 100_000])("are followed in chunks of %i bytes", (length) => {
    const frames = new IncomingFrames();
    const push = (...parts: Buffer[]): void => {
      const all = Buffer.concat(parts);
      for (let at = 0; at < all.length; at += length) frames.push(all.subarray(at, at + length));
    };
    push(...["", "a", "b".repeat(125), "c".repeat(126)].map((it) => textFrames([it], masked)));
    push(textFrames(["d".repeat(65_536)], masked));
    expect(frames.messageOpen).toBe(false);
    push(frame(pong, "between messages", masked));
    expect(frames.controlBytes).toBe(0);
    push(frame(text, "[", masked));
    expect(frames.messageOpen).toBe(true);
    push(frame(pong, "12345", masked), frame(more, "x".repeat(300), masked));
    push(frame(pong, "", masked));
    expect(frames.controlBytes).toBe(2 * size + 5);
    expect(frames.messageOpen).toBe(true);
    push(frame(last, "", masked));
    expect(frames.messageOpen).toBe(false);
    expect(frames.controlBytes).toBe(0);
  });
});

test("the chunks of an open message are counted whole", () => {
  const frames = new IncomingFrames();
  const [before, after] = [textFrames(["before"], true), textFrames(["after"], true)];
  frames.push(Buffer.concat([before, after.subarray(0, 3)]));
  expect(frames.messageBytes).toBe(before.length + 3);
  frames.push(after.subarray(3, 5));
  expect(frames.messageBytes).toBe(before.length + 5);
  frames.push(after.subarray(5));
  expect(frames.messageBytes).toBe(0);
});

test("a message is open from its first byte to its last", () => {
  const frames = new IncomingFrames();
  const bytes = textFrames(["hello"], true);
  for (const byte of bytes.subarray(0, -1)) {
    frames.push(Uint8Array.of(byte));
    expect(frames.messageOpen).toBe(true);
  }
  frames.push(bytes.subarray(-1));
  expect(frames.messageOpen).toBe(false);
});
