import { encodingFault, type FrameSink, truncatedFault } from "./framing.ts";
import { PendingBytes } from "./pending-bytes.ts";
import { decodeUtf8 } from "./utf8.ts";

/** The body of a frame with a known length. */
export class SizedBody {
  readonly #pending = new PendingBytes();
  #left = 0;
  #skipped = false;

  /** Whether bytes of the body are still to come. */
  get open(): boolean {
    return this.#left > 0;
  }

  /** The next bytes are a message. */
  expect(bytes: number, sink: FrameSink): void {
    this.#left = bytes;
    this.#skipped = false;
    if (bytes === 0) sink.text("");
  }

  /** The next bytes are discarded. */
  skip(bytes: number): void {
    this.#left = bytes;
    this.#skipped = true;
  }

  /** Reads the body from `at` on; returns the start of the rest of the chunk. */
  read(chunk: Uint8Array, at: number, sink: FrameSink): number {
    const end = Math.min(at + this.#left, chunk.length);
    this.#left -= end - at;
    if (this.#skipped) return end;
    if (this.#left > 0) {
      this.#pending.append(chunk, at, end);
    } else if (this.#pending.length === 0) {
      if (chunk[at] === 0 && sink.bytes !== undefined) sink.bytes(chunk.subarray(at, end));
      else deliver(decodeUtf8(chunk, at, end), sink);
    } else {
      this.#pending.append(chunk, at, end);
      if (this.#pending.first === 0 && sink.bytes !== undefined)
        sink.bytes(this.#pending.takeBytes());
      else deliver(this.#pending.takeText(), sink);
    }
    return end;
  }

  end(sink: FrameSink): void {
    if (this.open && !this.#skipped) sink.fault(truncatedFault);
  }
}

function deliver(text: string | undefined, sink: FrameSink): void {
  if (text === undefined) sink.fault(encodingFault);
  else sink.text(text);
}
