/** The last bytes of what a process said. */
export class Tail {
  readonly #maxBytes: number;
  #bytes = Buffer.alloc(0);

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]).subarray(-this.#maxBytes);
  }

  toString(): string {
    return this.#bytes.toString().trim();
  }
}
