import { HeaderBlock, UsualHeader } from "./content-length-header.ts";
import {
  type FrameDecoder,
  type FrameDecoderOptions,
  type FrameSink,
  type Framing,
  malformedFault,
  oversizeFault,
  truncatedFault,
} from "./framing.ts";
import { PendingBytes } from "./pending-bytes.ts";
import { SizedBody } from "./sized-body.ts";
import { decodeUtf8, utf8Length } from "./utf8.ts";

const LF = 10;
const LINE_END = /\r?\n$/;
const JSON_LINE = /^\s*[{[]/;
const MAX_HEADER_BYTES = 8_192;
/** An oversized message is skipped up to this multiple of the longest message. */
const MAX_SKIPPED = 64;
const CHUNKS_AS_BYTES = 16;

/**
 * Header fields as in the Language Server Protocol, then Content-Length bytes.
 * @example
 * ```ts
 * import { contentLengthFraming } from "callwire/framing";
 * import { serveStdio } from "callwire/stdio";
 *
 * serveStdio(server, { framing: contentLengthFraming }); // as editors speak to language servers
 * ```
 */
export const contentLengthFraming: Framing = {
  name: "content-length",
  encode: (text) => frame(utf8Length(text), text),
  encodeAll,
  decoder: (options) => new ContentLengthDecoder(options),
};

function frame(length: number, text: string): string {
  return `Content-Length: ${length}\r\n\r\n${text}`;
}

function encodeAll(texts: readonly string[]): string {
  let frames = "";
  for (const text of texts) frames += frame(text.length, text);
  // If each character is a byte, the lengths are right.
  return utf8Length(frames) === frames.length
    ? frames
    : texts.map(contentLengthFraming.encode).join("");
}

class ContentLengthDecoder implements FrameDecoder {
  readonly #maxMessageBytes: number;
  readonly #usual = new UsualHeader();
  readonly #line = new PendingBytes();
  readonly #body = new SizedBody();
  #headers: HeaderBlock | undefined;
  #headerBytes = 0;
  #chunksAsBytes = 0;
  #cut = false;

  constructor({ maxMessageBytes }: FrameDecoderOptions) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  get open(): boolean {
    return this.#headerBytes > 0 || this.#body.open;
  }

  push(chunk: Uint8Array, sink: FrameSink): void {
    const usual = this.#usual;
    let ascii: string | undefined;
    let asciiStart = -1;
    for (let at = 0; at < chunk.length && !this.#cut; ) {
      if (this.#body.open) {
        at = this.#body.read(chunk, at, sink);
      } else if (this.#headerBytes > 0 || !usual.read(chunk, at)) {
        at = this.#readHeaderLine(chunk, at, sink);
      } else {
        const bodyEnd = usual.end + usual.length;
        const whole = bodyEnd <= chunk.length && usual.length <= this.#maxMessageBytes;
        if (whole && asciiStart === -1) {
          asciiStart = at;
          ascii = this.#decodeAscii(chunk, at);
        }
        if (whole && ascii !== undefined) {
          sink.text(ascii.slice(usual.end - asciiStart, bodyEnd - asciiStart));
          at = bodyEnd;
        } else {
          this.#startBody(usual.length, sink);
          at = usual.end;
        }
      }
    }
  }

  end(sink: FrameSink): void {
    if (this.#cut) return;
    if (this.#headerBytes > 0) sink.fault(truncatedFault);
    else this.#body.end(sink);
    this.#cut = true;
  }

  /** Decodes the rest of the chunk at once if it is ASCII, so that all its messages cost one decoding. */
  #decodeAscii(chunk: Uint8Array, start: number): string | undefined {
    if (this.#chunksAsBytes > 0) {
      this.#chunksAsBytes--;
      return undefined;
    }
    const text = decodeUtf8(chunk, start, chunk.length);
    if (text?.length === chunk.length - start) return text;
    // A peer that sends other characters will send more of them, and decoding twice is slow.
    this.#chunksAsBytes = CHUNKS_AS_BYTES;
    return undefined;
  }

  #readHeaderLine(chunk: Uint8Array, start: number, sink: FrameSink): number {
    const lineEnd = chunk.indexOf(LF, start);
    const end = lineEnd === -1 ? chunk.length : lineEnd + 1;
    this.#headerBytes += end - start;
    if (this.#headerBytes > MAX_HEADER_BYTES) {
      this.#refuse(`The header is longer than ${MAX_HEADER_BYTES} bytes.`, sink);
    } else {
      this.#line.append(chunk, start, end);
      if (lineEnd !== -1) this.#endHeaderLine(sink);
    }
    return end;
  }

  #endHeaderLine(sink: FrameSink): void {
    this.#headers ??= new HeaderBlock();
    const line = this.#line.takeText()?.replace(LINE_END, "");
    if (line === "") {
      this.#endHeaders(this.#headers, sink);
    } else {
      const wrong =
        line === undefined
          ? "A header is not valid UTF-8."
          : JSON_LINE.test(line)
            ? 'A message has no Content-Length header; the framing of the peer is probably "newline".'
            : this.#headers.add(line);
      if (wrong !== undefined) this.#refuse(wrong, sink);
    }
  }

  #endHeaders({ contentLength, foreignCharset }: HeaderBlock, sink: FrameSink): void {
    this.#headers = undefined;
    this.#headerBytes = 0;
    if (contentLength === undefined) {
      this.#refuse("The Content-Length header is missing.", sink);
    } else if (foreignCharset && contentLength <= this.#maxMessageBytes) {
      this.#body.skip(contentLength);
      sink.fault(malformedFault("The charset of a message must be utf-8.", false));
    } else {
      this.#startBody(contentLength, sink);
    }
  }

  #startBody(length: number, sink: FrameSink): void {
    if (length <= this.#maxMessageBytes) {
      this.#body.expect(length, sink);
    } else if (length <= this.#maxMessageBytes * MAX_SKIPPED) {
      this.#body.skip(length);
      sink.fault(oversizeFault(this.#maxMessageBytes, false));
    } else {
      this.#cut = true;
      sink.fault(oversizeFault(this.#maxMessageBytes, true));
    }
  }

  /** After an invalid header the start of the next one is unknown. */
  #refuse(message: string, sink: FrameSink): void {
    this.#cut = true;
    sink.fault(malformedFault(message, true));
  }
}
