import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { textFrames } from "../../../src/transports/ws/frames.ts";

interface Frame {
  readonly first: number;
  readonly masked: boolean;
  readonly key: string;
  readonly payload: Buffer;
}

/** Reads frames as RFC 6455 has them, byte by byte. */
function read(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  let at = 0;
  while (at < bytes.length) {
    const first = bytes[at] as number;
    const masked = (bytes.readUInt8(at + 1) & 0x80) !== 0;
    let length = bytes.readUInt8(at + 1) & 0x7f;
    at += 2;
    if (length === 126) {
      length = bytes.readUInt16BE(at);
      at += 2;
    } else if (length === 127) {
      length = Number(bytes.readBigUInt64BE(at));
      at += 8;
    }
    const key = bytes.subarray(at, at + (masked ? 4 : 0));
    at += key.length;
    const payload = Buffer.from(bytes.subarray(at, at + length));
    for (let i = 0; masked && i < length; i++)
      payload[i] = payload.readUInt8(i) ^ key.readUInt8(i & 3);
    at += length;
    frames.push({ first, masked, key: key.toString("hex"), payload });
  }
  return frames;
}

describe.each([
  ["a server", false],
  ["a client", true],
])("%s", (_, masked) => {
  const lengths = [0, 1, 41, 42, 125, 126, 127, 341, 342, 1023, 1024, 65_535, 65_536, 200_000];

  test.each(lengths)("frames a text of %i characters", (length) => {
    for (const character of ["x", "é", "€", "😀"]) {
      const text = character.repeat(length);
      const [frame, ...rest] = read(textFrames([text], masked));
      expect(rest).toEqual([]);
      expect(frame).toMatchObject({ first: 0x81, masked });
      expect(frame?.payload.toString() === text).toBe(true);
    }
  });

  test("frames any texts one behind the other", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary", maxLength: 400 }), { maxLength: 10 }),
        (texts) => {
          const payloads = read(textFrames(texts, masked)).map(({ payload }) =>
            payload.toString("hex"),
          );
          expect(payloads).toEqual(texts.map((text) => Buffer.from(text).toString("hex")));
        },
      ),
    );
  });
});

test("each frame of a client has a key of its own", () => {
  const frames = read(textFrames(new Array(5000).fill("x"), true));
  expect(new Set(frames.map(({ key }) => key)).size).toBeGreaterThan(4990);
});
