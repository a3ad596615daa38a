/** What a frame says about its stream. */
export type FrameKind = "more" | "last" | "failed";

/** Some bytes of a value that travels beside a message. */
export interface ByteFrame {
  /** The number that the reader gave to the stream. */
  readonly stream: number;
  readonly kind: FrameKind;
  /** A view into what was received. */
  readonly bytes: Uint8Array;
}

const kinds: readonly FrameKind[] = ["more", "last", "failed"];
const headerBytes = 6;

/** Longest frame that is sent or accepted: other messages of the connection wait no longer than it takes. */
export const longestFrame: number = headerBytes + 64 * 1024;

/** Shorter frames would be nearly all header. */
export const shortestLimit = 64;

/** Bytes that fit into a frame of this length. */
export function roomIn(frameBytes: number): number {
  return frameBytes - headerBytes;
}

/** Zero, with which no JSON begins; the number of the stream in four bytes; the kind; and the bytes. */
export function byteFrame(stream: number, kind: FrameKind, bytes: Uint8Array): Uint8Array {
  const frame = new Uint8Array(headerBytes + bytes.length);
  new DataView(frame.buffer).setUint32(1, stream);
  frame[headerBytes - 1] = kinds.indexOf(kind);
  frame.set(bytes, headerBytes);
  return frame;
}

/** Undefined if it does not have the form of a frame. */
export function readByteFrame(frame: Uint8Array): ByteFrame | undefined {
  const kind = kinds[frame[headerBytes - 1] ?? kinds.length];
  if (frame[0] !== 0 || kind === undefined) return undefined;
  const stream = new DataView(frame.buffer, frame.byteOffset).getUint32(1);
  return { stream, kind, bytes: frame.subarray(headerBytes) };
}
