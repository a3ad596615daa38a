import {
  type FrameDecoder,
  type FrameDecoderOptions,
  type FrameSink,
  type Framing,
  oversizeFault,
  truncatedFault,
} from "./framing.ts";
import { SizedBody } from "./sized-body.ts";
import { encodeUtf8Into, utf8Length } from "./utf8.ts";

const PREFIX_BYTES = 4;

/**
 * A length of four bytes in big-endian order, then the message.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { lengthPrefixFraming } from "callwire/framing";
 * import { tcpLink } from "callwire/tcp";
 *
 * const link = tcpLink("tcp://127.0.0.1:9000", { framing: lengthPrefixFraming });
 * const client = createClient<typeof methods>(link);
 * ```
 */
export const lengthPrefixFraming: Framing = {
  name: "length-prefix",
  encode(text) {
    const frame = new Uint8Array(PREFIX_BYTES + utf8Length(text));
    write(text, frame, 0);
    return frame;
  },
  encodeAll(texts) {
    const lengths = texts.map(utf8Length);
    const frames = new Uint8Array(lengths.reduce((sum, length) => sum + PREFIX_BYTES + length, 0));
    let at = 0;
    for (const text of texts) at = write(text, frames, at);
    return frames;
  },
  encodeBytes(bytes) {
    const frame = new Uint8Array(PREFIX_BYTES + bytes.length);
    writeLength(bytes.length, frame, 0);
    frame.set(bytes, PREFIX_BYTES);
    return frame;
  },
  decoder: (options) => new LengthPrefixDecoder(options),
};

/** Writes one frame; returns the start of the next. */
function write(text: string, target: Uint8Array, at: number): number {
  const length = encodeUtf8Into(text, target.subarray(at + PREFIX_BYTES));
  writeLength(length, target, at);
  return at + PREFIX_BYTES + length;
}

function writeLength(length: number, target: Uint8Array, at: number): void {
  for (let i = 0; i < PREFIX_BYTES; i++) target[at + i] = length >>> (24 - 8 * i);
}

class LengthPrefixDecoder implements FrameDecoder {
  readonly #maxMessageBytes: number;
  readonly #body = new SizedBody();
  #prefix = 0;
  #prefixBytes = 0;
  #cut = false;

  constructor({ maxMessageBytes }: FrameDecoderOptions) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  get open(): boolean {
    return this.#prefixBytes > 0 || this.#body.open;
  }

  push(chunk: Uint8Array, sink: FrameSink): void {
    for (let at = 0; at < chunk.length && !this.#cut; ) {
      if (this.#body.open) at = this.#body.read(chunk, at, sink);
      else this.#readPrefix(chunk[at++] as number, sink);
    }
  }

  end(sink: FrameSink): void {
    if (this.#cut) return;
    if (this.#prefixBytes > 0) sink.fault(truncatedFault);
    else this.#body.end(sink);
    this.#cut = true;
  }

  #readPrefix(byte: number, sink: FrameSink): void {
    this.#prefix = this.#prefix * 256 + byte;
    if (++this.#prefixBytes < PREFIX_BYTES) return;
    const length = this.#prefix;
    this.#prefix = 0;
    this.#prefixBytes = 0;
    if (length <= this.#maxMessageBytes) {
      this.#body.expect(length, sink);
    } else {
      // Any four bytes are a length, so a length that is too large is probably not one at all.
      this.#cut = true;
      sink.fault(oversizeFault(this.#maxMessageBytes, true));
    }
  }
}
