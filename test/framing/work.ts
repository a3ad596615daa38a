/** How many bytes were handled, by function. */
export interface Work {
  decodings: number;
  decoded: number;
  copied: number;
  searched: number;
}

/** Counts the bytes that built-in functions handle while `run` runs, since a clock could only guess. */
export function measureWork(run: () => void): Work {
  const work: Work = { decodings: 0, decoded: 0, copied: 0, searched: 0 };
  const typedArray: Uint8Array = Object.getPrototypeOf(Uint8Array.prototype);
  const { decode } = TextDecoder.prototype;
  const { set, indexOf, lastIndexOf } = typedArray;
  TextDecoder.prototype.decode = function (bytes, options) {
    work.decodings++;
    work.decoded += bytes?.byteLength ?? 0;
    return decode.call(this, bytes, options);
  };
  typedArray.set = function (bytes, offset) {
    work.copied += bytes.length;
    set.call(this, bytes, offset);
  };
  typedArray.indexOf = function (byte, from = 0) {
    const found = indexOf.call(this, byte, from);
    work.searched += (found === -1 ? this.length : found + 1) - from;
    return found;
  };
  typedArray.lastIndexOf = function (byte) {
    const found = lastIndexOf.call(this, byte);
    work.searched += this.length - Math.max(found, 0);
    return found;
  };
  try {
    run();
  } finally {
    TextDecoder.prototype.decode = decode;
    Object.assign(typedArray, { set, indexOf, lastIndexOf });
  }
  return work;
}
