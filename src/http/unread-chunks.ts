import { PendingBytes } from "../framing/pending-bytes.ts";

/** Shorter chunks are copied together: a chunk of one byte takes a hundred times that, or keeps a larger one it is part of. */
const shortBytes = 16 * 1024;

/** Bytes that have arrived and were not read. */
export class UnreadChunks {
  length = 0;
  readonly #chunks: Uint8Array[] = [];
  /** What came after `#chunks`. */
  readonly #short = new PendingBytes();

  push(chunk: Uint8Array): void {
    this.length += chunk.length;
    if (chunk.length < shortBytes) this.#short.append(chunk, 0, chunk.length);
    else {
      if (this.#short.length > 0) this.#chunks.push(this.#short.takeBytes());
      this.#chunks.push(chunk);
    }
  }

  shift(): Uint8Array | undefined {
    if (this.length === 0) return undefined;
    const chunk = this.#chunks.shift() ?? this.#short.takeBytes();
    this.length -= chunk.length;
    return chunk;
  }

  clear(): void {
    this.length = 0;
    this.#chunks.length = 0;
    this.#short.clear();
  }
}
