import { decodeUtf8 } from "./utf8.ts";

const FIRST_BYTES = 256;
const KEPT_BYTES = 16_384;

/** Bytes of an incomplete frame, in a buffer that doubles. */
export class PendingBytes {
  #bytes = new Uint8Array(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get first(): number | undefined {
    return this.#bytes[0];
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    const length = this.#length + end - start;
    if (length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(length, 2 * this.#bytes.length, FIRST_BYTES));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    this.#bytes.set(bytes.subarray(start, end), this.#length);
    this.#length = length;
  }

  /** Takes all bytes as a string, or undefined if they are not valid UTF-8. */
  takeText(): string | undefined {
    const text = decodeUtf8(this.#bytes, 0, this.#length);
    this.clear();
    return text;
  }

  /** Takes all bytes. */
  takeBytes(): Uint8Array {
    const bytes = this.#bytes.slice(0, this.#length);
    this.clear();
    return bytes;
  }

  clear(): void {
    this.#length = 0;
    // One long message must not keep its memory for as long as the stream is open.
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = new Uint8Array(0);
  }
}

/** Starts with a first chunk, when another one comes. */
export function pendingAfter(chunk: Uint8Array): PendingBytes {
  const pending = new PendingBytes();
  pending.append(chunk, 0, chunk.length);
  return pending;
}
