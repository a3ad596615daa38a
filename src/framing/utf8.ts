// The byte order mark is kept, so that JSON.parse rejects it.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
// Left out of bundles that only decode.
const encoder = /* @__PURE__ */ new TextEncoder();

const SLICE_CHARS = 8_192;
/** Three bytes per character; a literal, because bundlers can only drop that. */
const scratch = /* @__PURE__ */ new Uint8Array(24_576);

/** Decodes a range of bytes; undefined if it is not valid UTF-8. */
export function decodeUtf8(bytes: Uint8Array, start: number, end: number): string | undefined {
  try {
    return decoder.decode(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end));
  } catch {
    return undefined;
  }
}

/** Length in UTF-8 bytes; a lone surrogate counts as U+FFFD, as encoders write it. */
export function utf8Length(text: string): number {
  // Encoding into a scratch buffer is many times faster than a loop over the characters.
  if (text.length <= SLICE_CHARS) return encoder.encodeInto(text, scratch).written;
  let bytes = 0;
  for (let start = 0; start < text.length; ) {
    let end = start + SLICE_CHARS;
    if (isHighSurrogate(text.charCodeAt(end - 1))) end--;
    bytes += encoder.encodeInto(text.slice(start, end), scratch).written;
    start = end;
  }
  return bytes;
}

/** Encodes a string at the start of the target, which must have room for it; returns the number of bytes. */
export function encodeUtf8Into(text: string, target: Uint8Array): number {
  return encoder.encodeInto(text, target).written;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
