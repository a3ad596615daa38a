import { vi } from "vitest";

/** How many bytes were looked at, by what looked at them. */
export interface Work {
  decodings: number;
  decoded: number;
  copied: number;
  searched: number;
}

/** Counts the bytes that the built-in functions handle while `run` runs, which a clock could only guess. */
export function measureWork(run: () => void): Work {
  const work: Work = { decodings: 0, decoded: 0, copied: 0, searched: 0 };
  const typedArray: Uint8Array = Object.getPrototypeOf(Uint8Array.prototype);
  const { decode } = TextDecoder.prototype;
  const { set, indexOf, lastIndexOf } = typedArray;
  const spies = [
    vi.spyOn(TextDecoder.prototype, "decode").mockImplementation(function (
      this: TextDecoder,
      bytes,
      options,
    ) {
      work.decodings++;
      work.decoded += bytes?.byteLength ?? 0;
      return decode.call(this, bytes, options);
    }),
    vi.spyOn(typedArray, "set").mockImplementation(function (this: Uint8Array, bytes, offset) {
      work.copied += bytes.length;
      set.call(this, bytes, offset);
    }),
    vi.spyOn(typedArray, "indexOf").mockImplementation(function (this: Uint8Array, byte, from = 0) {
      const found = indexOf.call(this, byte, from);
      work.searched += (found === -1 ? this.length : found + 1) - from;
      return found;
    }),
    vi.spyOn(typedArray, "lastIndexOf").mockImplementation(function (this: Uint8Array, byte) {
      const found = lastIndexOf.call(this, byte);
      work.searched += this.length - Math.max(found, 0);
      return found;
    }),
  ];
  try {
    run();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return work;
}
