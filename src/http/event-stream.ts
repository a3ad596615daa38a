import type { WireError } from "../protocol/errors.ts";
import { badReply } from "../protocol/pair.ts";

/** One event of a `text/event-stream`. */
export interface StreamEvent {
  readonly data: string;
  /** The last id of the stream, with this event or before it; empty if there was none. */
  readonly id: string;
}

/** Writes one event. The data must not contain line breaks; JSON without indentation has none. */
export function eventText(data: string, id?: string): string {
  return id === undefined ? `data: ${data}\n\n` : `id: ${id}\ndata: ${data}\n\n`;
}

/** The error for a reply, or an event before it, that is longer than the link takes. */
export function replyTooLarge(maxBytes: number): WireError {
  return badReply(`the reply is larger than ${maxBytes} bytes (maxReplyBytes)`);
}

/** A comment, which clients skip; it shows that the connection is alive. */
export const keepAliveText = ": keep-alive\n\n";

const LF = 10;
const CR = 13;
const lineBreak = /[\r\n]/g;

/** Parses a stream of events from chunks that may be cut anywhere. */
export class EventStreamDecoder {
  /** The id of the last whole event, to resume from. */
  lastId: string;
  /** How long the server wants clients to wait before they reconnect. */
  retryMs: number | undefined;
  readonly #maxLength: number;
  // A byte order mark is dropped, as the specification says.
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true });
  /** The parts of an incomplete line; joined once, so that small chunks cost no more. */
  #line: string[] = [];
  #data: string[] = [];
  #id: string;
  #length = 0;
  #afterCr = false;

  /** `maxLength` limits one event, in characters, so that an endless one cannot fill memory. */
  constructor(maxLength: number, lastId = "") {
    this.#maxLength = maxLength;
    this.#id = lastId;
    this.lastId = lastId;
  }

  /** Throws a `WireError` if the bytes are not UTF-8 or an event is too long. */
  push(chunk: Uint8Array, found: (event: StreamEvent) => void): void {
    const text = this.#decode(chunk);
    let start = this.#afterCr && text.charCodeAt(0) === LF ? 1 : 0;
    if (text !== "") this.#afterCr = false;
    for (;;) {
      lineBreak.lastIndex = start;
      const end = lineBreak.exec(text)?.index;
      if (end === undefined) break;
      this.#keep(text.slice(start, end));
      this.#endLine(found);
      start = end + 1;
      if (text.charCodeAt(end) !== CR) continue;
      if (text.charCodeAt(start) === LF) start++;
      else this.#afterCr = start === text.length;
    }
    if (start < text.length) this.#keep(text.slice(start));
  }

  #decode(chunk: Uint8Array): string {
    try {
      return this.#utf8.decode(chunk, { stream: true });
    } catch (cause) {
      throw badReply("the reply is not UTF-8", { cause });
    }
  }

  #keep(part: string): void {
    this.#length += part.length;
    if (!(this.#length <= this.#maxLength)) {
      throw replyTooLarge(this.#maxLength);
    }
    this.#line.push(part);
  }

  #endLine(found: (event: StreamEvent) => void): void {
    const line = this.#line.length === 1 ? (this.#line[0] as string) : this.#line.join("");
    this.#line = [];
    if (line === "") {
      const data = this.#data;
      this.#data = [];
      this.#length = 0;
      this.lastId = this.#id;
      if (data.length > 0) found({ data: data.join("\n"), id: this.lastId });
      return;
    }
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const from = line.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1;
    const value = colon === -1 ? "" : line.slice(from);
    if (name === "data") this.#data.push(value);
    // Lines that are not kept do not count.
    else this.#length -= line.length;
    if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d{1,9}$/.test(value)) this.retryMs = Number(value);
  }
}
