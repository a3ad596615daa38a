import { PendingBytes } from "../framing/pending-bytes.ts";
import type { Attachments } from "../protocol/attachments.ts";
import { WireError } from "../protocol/errors.ts";
import type { Id } from "../protocol/message.ts";
import { badReply } from "../protocol/pair.ts";
import { asError, busyWith, invalidParams } from "../protocol/standard-errors.ts";
import type { ByteFrame } from "./byte-frames.ts";

/** Bytes of a stream that may be on their way or unread. */
const window = 256 * 1024;

/** The message that bytes belong to: a call of the reader's peer, or the reply to a call of the reader. */
export type BytesOf = "params" | "result";

/** One of the values beside a message. */
export interface Part {
  readonly id: Id;
  readonly part: number;
  readonly of: BytesOf;
}

/** What a stream of bytes needs of its connection. */
export interface ByteReader {
  /** Gives a number to a stream and asks the peer for its first bytes. Throws if the connection is closed. */
  begin(stream: ArrivingStream, part: Part, credit: number): number;
  /** Asks for more. */
  grant(stream: number, credit: number): void;
  /** Stops reading; `isAnnounced` if the peer has to be notified. */
  end(stream: number, isAnnounced: boolean): void;
  /** Nothing more of a reply is wanted. */
  dropReply(id: Id): void;
  /** Counts memory; false if it is too much. */
  hold(bytes: number): boolean;
}

/** The bytes beside one message; each part is requested when the program reads it. */
export class ArrivingBytes implements Attachments {
  readonly #reader: ByteReader;
  readonly #id: Id;
  readonly #of: BytesOf;
  readonly #streams = new Map<number, ArrivingStream>();
  #isDiscarded = false;

  constructor(reader: ByteReader, id: Id, of: BytesOf) {
    this.#reader = reader;
    this.#id = id;
    this.#of = of;
  }

  open(part: number): ReadableStream<Uint8Array> {
    if (this.#isDiscarded) throw new TypeError("the call has ended");
    if (this.#streams.has(part)) throw new TypeError(`part ${part} is already open`);
    const stream = new ArrivingStream(this.#reader, { id: this.#id, part, of: this.#of });
    this.#streams.set(part, stream);
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const bytes = await stream.read();
          if (bytes === undefined) controller.close();
          else controller.enqueue(bytes);
        },
        cancel: () => stream.drop(),
      },
      { highWaterMark: 0 },
    );
  }

  discard(): void {
    if (this.#isDiscarded) return;
    this.#isDiscarded = true;
    for (const stream of this.#streams.values()) stream.fail(new TypeError("the call has ended"));
    if (this.#of === "result") this.#reader.dropReply(this.#id);
  }
}

/** One part that arrives, as far as the program has not read it. */
export class ArrivingStream {
  readonly #reader: ByteReader;
  readonly #part: Part;
  readonly #unread = new PendingBytes();
  /** Undefined until it is first read. */
  #number: number | undefined;
  /** Bytes that were asked for and have not arrived. */
  #credit = 0;
  #isEnded = false;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(reader: ByteReader, part: Part) {
    this.#reader = reader;
    this.#part = part;
  }

  /** The next bytes; undefined at the end. */
  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const { length } = this.#unread;
      if (length > 0) {
        const bytes = this.#unread.takeBytes();
        this.#reader.hold(-length);
        this.#ask();
        return bytes;
      }
      if (this.#isEnded) return undefined;
      this.#ask();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Takes a frame; false if it brings nothing, or more than was asked for. */
  push({ kind, bytes }: ByteFrame): boolean {
    if (kind === "failed") {
      this.#close(unreadable(this.#part.of), false);
      return true;
    }
    if (bytes.length > this.#credit || (kind === "more" && bytes.length === 0)) return false;
    this.#credit -= bytes.length;
    // A copy: a view would keep the whole chunk that brought it.
    this.#unread.append(bytes, 0, bytes.length);
    if (!this.#reader.hold(bytes.length)) this.#close(tooMuch(this.#part.of), true);
    else if (kind === "last") this.#end(false);
    this.#awake();
    return true;
  }

  /** The program reads no further. */
  drop(): void {
    this.#close(new TypeError("the bytes were dropped"), true);
  }

  /** The message that it belongs to is over, which the peer knows. */
  fail(error: Error): void {
    this.#close(error, false);
  }

  /** Asks for more once half of what may be unread was taken. */
  #ask(): void {
    if (this.#isEnded) return;
    const credit = window - this.#credit - this.#unread.length;
    if (credit < window / 2) return;
    if (this.#number !== undefined) this.#reader.grant(this.#number, credit);
    else this.#number = this.#reader.begin(this, this.#part, credit);
    this.#credit += credit;
  }

  #close(error: Error, isAnnounced: boolean): void {
    if (this.#failure !== undefined || (this.#isEnded && this.#unread.length === 0)) return;
    this.#failure = error;
    this.#reader.hold(-this.#unread.length);
    this.#unread.clear();
    this.#end(isAnnounced);
    this.#awake();
  }

  #end(isAnnounced: boolean): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#number !== undefined) this.#reader.end(this.#number, isAnnounced);
  }

  #awake(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

function unreadable(of: BytesOf): Error {
  const sentence = "the sender could not read the bytes that it sent beside the message";
  return of === "params" ? invalidParams(sentence) : badReply(sentence);
}

function tooMuch(of: BytesOf): Error {
  const details = "bytes beside messages take too much memory";
  return of === "params" ? asError(busyWith(details)) : new WireError("TOO_LARGE", details);
}
