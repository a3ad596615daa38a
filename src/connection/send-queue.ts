import { utf8Length } from "../framing/utf8.ts";

/** Longer messages are framed when they are queued, so that their bytes count: a character may take three. */
const longText = 64 * 1024;
const encoder = new TextEncoder();

/** A frame that leaves in a write of its own. */
interface Frame {
  readonly data: string | Uint8Array;
}

/** Messages that the wire has not accepted yet. Those of one turn of the event loop leave in one write. */
export class SendQueue {
  /** Makes the frames of some messages. */
  readonly #frame: (texts: readonly string[]) => string | Uint8Array;
  /** Short messages, and frames of long ones. */
  #queued: (string | Frame)[] = [];
  /** How much is queued; changed by the queue only, as is `isEmpty`. */
  bytes = 0;
  isEmpty = true;
  #longOnes = 0;

  constructor(frame: (texts: readonly string[]) => string | Uint8Array) {
    this.#frame = frame;
  }

  /** Returns whether the queue was empty. */
  add(text: string): boolean {
    if (text.length > longText) return this.addFrame(this.#longFrame(text));
    this.bytes += text.length;
    this.isEmpty = false;
    return this.#queued.push(text) === 1;
  }

  /** The same for a frame, each character of which is a byte. */
  addFrame(data: string | Uint8Array): boolean {
    this.bytes += data.length;
    this.isEmpty = false;
    this.#longOnes++;
    return this.#queued.push({ data }) === 1;
  }

  /** Takes one long message, or short ones with about `most` characters, to be written at once. */
  take(most: number): string | Uint8Array {
    const queued = this.#queued;
    if (this.#longOnes === 0 && this.bytes <= most) {
      this.clear();
      return this.#frame(queued as string[]);
    }
    const [first] = queued;
    if (typeof first === "object") {
      queued.shift();
      this.isEmpty = queued.length === 0;
      this.#longOnes--;
      this.bytes -= first.data.length;
      return first.data;
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

  #longFrame(text: string): string | Uint8Array {
    const frame = this.#frame([text]);
    // A stream writes ASCII faster than we encode it.
    const isEncoded = typeof frame !== "string" || utf8Length(frame) === frame.length;
    return isEncoded ? frame : encoder.encode(frame);
  }
}
