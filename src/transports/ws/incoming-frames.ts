const finalBit = 0x80;
const maskBit = 0x80;
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
