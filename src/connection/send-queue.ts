/** Longer messages are framed when they are queued, so that their bytes count: a character may take three. */
const longText = 64 * 1024;
const encoder = new TextEncoder();

/** Messages that the wire has not accepted yet. Those of one turn of the event loop leave in one write. */
export class SendQueue {
  /** Makes the frames of some messages. */
  readonly #frame: (texts: readonly string[]) => string | Uint8Array;
  /** Short messages, and frames of long ones. */
  #queued: (string | Uint8Array)[] = [];
  /** How much is queued; changed by the queue only, as is `isEmpty`. */
  bytes = 0;
  isEmpty = true;
  #longOnes = 0;

  constructor(frame: (texts: readonly string[]) => string | Uint8Array) {
    this.#frame = frame;
  }

  /** Returns whether the queue was empty. */
  add(text: string): boolean {
    const queued = text.length <= longText ? text : this.#longFrame(text);
    this.bytes += queued.length;
    this.isEmpty = false;
    return this.#queued.push(queued) === 1;
  }

  /** The same for a frame of bytes. */
  addFrame(frame: Uint8Array): boolean {
    this.bytes += frame.length;
    this.isEmpty = false;
    this.#longOnes++;
    return this.#queued.push(frame) === 1;
  }

  /** Takes one long message, or short ones with about `most` characters, to be written at once. */
  take(most: number): string | Uint8Array {
    const queued = this.#queued;
    if (this.#longOnes === 0 && this.bytes <= most) {
      this.clear();
      return this.#frame(queued as string[]);
    }
    const [first] = queued;
    if (first instanceof Uint8Array) {
      queued.shift();
      this.isEmpty = queued.length === 0;
      this.#longOnes--;
      this.bytes -= first.length;
      return first;
    }
    const texts: string[] = [];
    let length = 0;
    for (const text of queued) {
      if (typeof text !== "string" || length > most) break;
      texts.push(text);
      length += text.length;
    }
    queued.splice(0, texts.length);
    this.isEmpty = queued.length === 0;
    this.bytes -= length;
    return this.#frame(texts);
  }

  clear(): void {
    this.#queued = [];
    this.bytes = 0;
    this.isEmpty = true;
    this.#longOnes = 0;
  }

  #longFrame(text: string): Uint8Array {
    this.#longOnes++;
    const frame = this.#frame([text]);
    return typeof frame === "string" ? encoder.encode(frame) : frame;
  }
}
