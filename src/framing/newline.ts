import {
  encodingFault,
  type FrameDecoder,
  type FrameDecoderOptions,
  type FrameSink,
  type Framing,
  malformedFault,
  oversizeFault,
  truncatedFault,
} from "./framing.ts";
import { PendingBytes } from "./pending-bytes.ts";
import { decodeUtf8 } from "./utf8.ts";

const LF = 10;
const CR = 13;
const SPACE = 32;
const BLANK = /^[ \t\r]*$/;
const WHOLE = /[}\]][ \t\r]*$/;
const STATUS = /^HTTP\/1\.[01] [0-9]{3}/;
const HEADER = /^content-length:[ \t]*[0-9]+$/i;
const UPPER_C = 67;
const UPPER_H = 72;
const LOWER_C = 99;
/** Its messages have no line breaks between them, so none could be read. */
const foreignFraming = malformedFault(
  'A line is a Content-Length header; the framing of the peer is probably "content-length".',
  true,
);
const httpReply = malformedFault("The peer speaks HTTP.", true);

/**
 * One message per line: LF ends it, a CR before the LF is dropped, blank lines are ignored.
 * @example
 * ```ts
 * import { newlineFraming } from "callwire/framing";
 * import { serveSocket } from "callwire/tcp";
 *
 * await serveSocket(server, { port: 9000, framing: newlineFraming }); // also the default
 * ```
 */
export const newlineFraming: Framing = {
  name: "newline",
  encode: (text) => `${onOneLine(text)}\n`,
  encodeAll,
  decoder: (options) => new NewlineDecoder(options),
};

function encodeAll(texts: readonly string[]): string {
  const lines = texts.join("\n");
  let count = 1;
  for (let at = lines.indexOf("\n"); at !== -1; at = lines.indexOf("\n", at + 1)) count++;
  // With more lines than messages, one message contains a line break.
  if (count !== texts.length) return texts.map(newlineFraming.encode).join("");
  return `${withoutOtherBreaks(lines)}\n`;
}

function onOneLine(text: string): string {
  // Outside of strings a line break is white space, and inside of strings JSON has no raw control characters.
  const line = text.includes("\n") ? text.replaceAll("\n", " ") : text;
  return withoutOtherBreaks(line);
}

function withoutOtherBreaks(text: string): string {
  let line = text;
  if (line.includes("\r")) line = line.replaceAll("\r", " ");
  // JSON has these two in strings only, and peers that use Node's readline break lines at them.
  if (line.includes("\u2028")) line = line.replaceAll("\u2028", "\\u2028");
  if (line.includes("\u2029")) line = line.replaceAll("\u2029", "\\u2029");
  return line;
}

class NewlineDecoder implements FrameDecoder {
  readonly #maxMessageBytes: number;
  readonly #pending = new PendingBytes();
  #skipping = false;
  #cut = false;

  constructor({ maxMessageBytes }: FrameDecoderOptions) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  get open(): boolean {
    if (this.#cut) return false;
    return this.#skipping || this.#pending.length > 0;
  }

  push(chunk: Uint8Array, sink: FrameSink): void {
    if (this.#cut) return;
    let start = 0;
    if (this.#skipping || this.#pending.length > 0) {
      const end = chunk.indexOf(LF);
      this.#keep(chunk, 0, end === -1 ? chunk.length : end, sink);
      if (end === -1) return;
      this.#finishLine(sink);
      start = end + 1;
    }
    const end = chunk.lastIndexOf(LF);
    if (end >= start) {
      this.#readLines(chunk, start, end, sink);
      start = end + 1;
    }
    this.#keep(chunk, start, chunk.length, sink);
  }

  end(sink: FrameSink): void {
    if (this.#cut || this.#pending.length === 0) return;
    const text = this.#pending.takeText();
    // `printf '{…}' | server` sends no line break.
    if (text !== undefined && WHOLE.test(text)) this.#deliver(text, sink);
    else if (text === undefined || !BLANK.test(text)) sink.fault(truncatedFault);
  }

  /** Keeps a part of an incomplete line. */
  #keep(chunk: Uint8Array, start: number, end: number, sink: FrameSink): void {
    if (this.#cut || this.#skipping || start === end) return;
    const bytes = this.#pending.length + end - start;
    // A trailing CR may belong to the line break.
    if (bytes - (chunk[end - 1] === CR ? 1 : 0) > this.#maxMessageBytes) {
      this.#pending.clear();
      this.#skipping = true;
      sink.fault(oversizeFault(this.#maxMessageBytes, false));
    } else {
      this.#pending.append(chunk, start, end);
    }
  }

  #finishLine(sink: FrameSink): void {
    if (this.#skipping) this.#skipping = false;
    else this.#deliver(this.#pending.takeText(), sink);
  }

  /** Reads complete lines; `end` is the index of the last LF. */
  #readLines(chunk: Uint8Array, start: number, end: number, sink: FrameSink): void {
    const short = end - start <= this.#maxMessageBytes;
    const text = short ? decodeUtf8(chunk, start, end) : undefined;
    if (text === undefined) this.#readEachLine(chunk, start, end, sink);
    else this.#deliverLines(text, sink);
  }

  /** The slow path, which finds lines that are too long or not UTF-8. */
  #readEachLine(chunk: Uint8Array, start: number, end: number, sink: FrameSink): void {
    for (let at = start; at <= end; ) {
      const lineEnd = chunk.indexOf(LF, at);
      const textEnd = chunk[lineEnd - 1] === CR ? lineEnd - 1 : lineEnd;
      if (textEnd - at > this.#maxMessageBytes) {
        if (!this.#cut) sink.fault(oversizeFault(this.#maxMessageBytes, false));
      } else {
        this.#deliver(decodeUtf8(chunk, at, lineEnd), sink);
      }
      at = lineEnd + 1;
    }
  }

  #deliverLines(text: string, sink: FrameSink): void {
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      this.#deliver(text.slice(start, end), sink);
      start = end + 1;
    }
    this.#deliver(text.slice(start), sink);
  }

  #deliver(text: string | undefined, sink: FrameSink): void {
    if (this.#cut) return;
    if (text === undefined) {
      sink.fault(encodingFault);
      return;
    }
    const last = text.length - 1;
    const line = text.charCodeAt(last) === CR ? text.slice(0, last) : text;
    const first = line.charCodeAt(0);
    if ((first === UPPER_C || first === LOWER_C) && HEADER.test(line)) {
      this.#cut = true;
      sink.fault(foreignFraming);
    } else if (first === UPPER_H && STATUS.test(line)) {
      this.#cut = true;
      sink.fault(httpReply);
    } else if (first > SPACE || !BLANK.test(line)) sink.text(line);
  }
}
