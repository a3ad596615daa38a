import { randomFillSync } from "node:crypto";
import { constants, deflateRawSync } from "node:zlib";

const finalText = 0x81;
const finalBinary = 0x82;
const finalDeflatedText = 0xc1;
const maskBit = 0x80;
const longestHeader = 14;
/** From this length on, counting bytes costs less than reserving three bytes per character. */
const countedFrom = 1024;

/**
 * Encodes several messages as text frames (RFC 6455) in one buffer. One write for all replies of a turn costs a
 * quarter of a write for each.
 */
export function textFrames(texts: readonly string[], masked: boolean): Buffer {
  let room = 0;
  for (const text of texts) {
    room += longestHeader + (text.length < countedFrom ? text.length * 3 : Buffer.byteLength(text));
  }
  const frames = Buffer.allocUnsafe(room);
  let at = 0;
  for (const text of texts) at = writeFrame(frames, at, text, masked);
  return frames.subarray(0, at);
}

/** Shorter messages fit into one packet, so compressing them only costs time. */
const deflatedFrom = 1024;
const deflateOptions = { level: 1, finishFlush: constants.Z_SYNC_FLUSH };
/** What ends each deflated message, and is not sent (RFC 7692, 7.2.1). */
const tailSize = 4;

/** The same for a peer that inflates messages (`permessage-deflate`); each is compressed by itself. */
export function deflatedFrames(texts: readonly string[], masked: boolean): Buffer {
  if (!texts.some(({ length }) => length >= deflatedFrom)) return textFrames(texts, masked);
  return Buffer.concat(
    texts.map((text) =>
      text.length < deflatedFrom ? textFrames([text], masked) : deflatedFrame(text, masked),
    ),
  );
}

function deflatedFrame(text: string, masked: boolean): Buffer {
  const deflated = deflateRawSync(text, deflateOptions);
  const length = deflated.length - tailSize;
  const start = lengthSize(length) + (masked ? 4 : 0);
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = finalDeflatedText;
  writeLength(frame, 1, length, masked ? maskBit : 0);
  deflated.copy(frame, start, 0, length);
  if (masked) mask(frame, start, length);
  return frame;
}

/** Encodes bytes as a binary frame. */
export function binaryFrame(bytes: Uint8Array, masked: boolean): Buffer {
  const { length } = bytes;
  const start = lengthSize(length) + (masked ? 4 : 0);
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = finalBinary;
  writeLength(frame, 1, length, masked ? maskBit : 0);
  frame.set(bytes, start);
  if (masked) mask(frame, start, length);
  return frame;
}

/** Returns the end of the frame. */
function writeFrame(frames: Buffer, at: number, text: string, masked: boolean): number {
  const maskSize = masked ? 4 : 0;
  // Nearly all text is ASCII, so the character count predicts the size of the header; otherwise the payload is moved.
  const guess = at + lengthSize(text.length) + maskSize;
  const length = frames.write(text, guess);
  const start = at + lengthSize(length) + maskSize;
  if (start !== guess) frames.copyWithin(start, guess, guess + length);
  frames[at] = finalText;
  writeLength(frames, at + 1, length, masked ? maskBit : 0);
  if (masked) mask(frames, start, length);
  return start + length;
}

/** Size of the first byte and the length of a frame. */
function lengthSize(length: number): number {
  if (length < 126) return 2;
  return length < 65_536 ? 4 : 10;
}

function writeLength(frames: Buffer, at: number, length: number, bit: number): void {
  if (length < 126) {
    frames[at] = bit | length;
  } else if (length < 65_536) {
    frames[at] = bit | 126;
    frames.writeUInt16BE(length, at + 1);
  } else {
    frames[at] = bit | 127;
    frames.writeUInt16BE(0, at + 1);
    frames.writeUIntBE(length, at + 3, 6);
  }
}

const keys = new Uint8Array(8192);
let nextKey = keys.length;

/** Writes an unpredictable key before the payload, and masks the payload with it. */
function mask(frames: Buffer, start: number, length: number): void {
  if (nextKey === keys.length) {
    randomFillSync(keys);
    nextKey = 0;
  }
  const keyAt = start - 4;
  for (let i = 0; i < 4; i++) frames[keyAt + i] = keys[nextKey++] as number;
  const masked = length < wordsFrom ? 0 : maskWords(frames, start, length);
  for (let i = masked; i < length; i++) {
    frames[start + i] = (frames[start + i] as number) ^ (frames[keyAt + (i & 3)] as number);
  }
}

/** Payloads from this length on are masked by words, which takes a third of the time. */
const wordsFrom = 256;
const keyWord = new Uint32Array(1);
const keyBytes = new Uint8Array(keyWord.buffer);

/** Masks all but the last bytes; returns how many it masked. */
function maskWords(frames: Buffer, start: number, length: number): number {
  const keyAt = start - 4;
  // A view of words must begin at a multiple of four in its buffer.
  const before = -(frames.byteOffset + start) & 3;
  for (let i = 0; i < before; i++) {
    frames[start + i] = (frames[start + i] as number) ^ (frames[keyAt + i] as number);
  }
  for (let i = 0; i < 4; i++) keyBytes[i] = frames[keyAt + ((before + i) & 3)] as number;
  const key = keyWord[0] as number;
  const count = (length - before) >> 2;
  const words = new Uint32Array(frames.buffer, frames.byteOffset + start + before, count);
  for (let i = 0; i < count; i++) words[i] = (words[i] as number) ^ key;
  return before + 4 * count;
}

const finalBit = 0x80;
const firstControlCode = 0x08;

/**
 * Follows the frames that a socket brings by their headers, because `ws` reports whole messages only. It keeps each
 * fragment as a view into the chunk that brought it, and control frames in that chunk stay in memory with it.
 */
export class IncomingFrames {
  #messageOpen = false;
  #messageBytes = 0;
  #controlBytes = 0;
  /** The first byte of the current frame. */
  #kind = 0;
  #headerRead = 0;
  #headerSize = 2;
  #lengthEnd = 2;
  #payloadLeft = 0;

  /** A message has begun and not ended. */
  get messageOpen(): boolean {
    return this.#messageOpen;
  }

  /** Size of the chunks that brought what there is of the open message. */
  get messageBytes(): number {
    return this.#messageBytes;
  }

  /** Size of the control frames between the fragments of the open message. */
  get controlBytes(): number {
    return this.#controlBytes;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#headerRead < this.#headerSize) this.#readHeader(chunk[at++] as number);
      else {
        const skipped = Math.min(this.#payloadLeft, chunk.length - at);
        at += skipped;
        this.#payloadLeft -= skipped;
      }
      if (this.#headerRead === this.#headerSize && this.#payloadLeft === 0) this.#endFrame();
    }
    if (this.#messageOpen) this.#messageBytes += chunk.length;
  }

  #readHeader(byte: number): void {
    const index = this.#headerRead++;
    if (index === 0) {
      this.#kind = byte;
      if (!this.#isControl()) this.#messageOpen = true;
    } else if (index === 1) {
      const length = byte & ~maskBit;
      const extended = length < 126 ? 0 : length === 126 ? 2 : 8;
      this.#payloadLeft = extended === 0 ? length : 0;
      this.#lengthEnd = 2 + extended;
      this.#headerSize = this.#lengthEnd + (byte & maskBit ? 4 : 0);
      if (this.#isControl() && this.#messageOpen) this.#controlBytes += this.#headerSize + length;
    } else if (index < this.#lengthEnd) {
      this.#payloadLeft = this.#payloadLeft * 256 + byte;
    }
  }

  #endFrame(): void {
    this.#headerRead = 0;
    this.#headerSize = 2;
    if (this.#isControl() || !(this.#kind & finalBit)) return;
    this.#messageOpen = false;
    this.#messageBytes = 0;
    this.#controlBytes = 0;
  }

  #isControl(): boolean {
    return (this.#kind & 0x0f) >= firstControlCode;
  }
}
