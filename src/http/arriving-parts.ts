import { decodeUtf8 } from "../framing/utf8.ts";
import { type Attachments, readAll } from "../protocol/attachments.ts";
import type { WireBuffers } from "../protocol/memory-bounds.ts";
import { asError } from "../protocol/standard-errors.ts";
import type { BodyFault, HttpMessage, MessageLimits } from "./http-message.ts";
import { type ByteSource, MultipartError, MultipartReader } from "./multipart-reader.ts";
import { UnreadChunks } from "./unread-chunks.ts";
import { bytesOverload, WaitingBytes } from "./waiting-bytes.ts";

/** Reads the message, which is the first part of a multipart body; gives the fault if that is not possible. */
export async function openParts(
  message: Pick<HttpMessage, "openBody">,
  boundary: string,
  { maxMessageBytes, buffers }: Pick<MessageLimits, "maxMessageBytes" | "buffers">,
): Promise<{ readonly text: string | undefined; readonly parts: ArrivingParts } | BodyFault> {
  const body = message.openBody();
  if (typeof body === "string") return body;
  const reader = new MultipartReader(body, boundary);
  // What was read is released at once, while the refusal waits for the client.
  const shedding = new AbortController();
  const waiting = new WaitingBytes(buffers, () => shedding.abort());
  const options = { signal: shedding.signal, hold: (bytes: number) => waiting.add(bytes) };
  try {
    const text = await firstPart(reader, maxMessageBytes, options);
    return { text, parts: new ArrivingParts(reader, undefined, buffers) };
  } catch (error) {
    body.cancel();
    if (shedding.signal.aborted) return "overload";
    if (error instanceof RangeError) return "too-large";
    return error instanceof MultipartError ? "malformed" : "unreadable";
  } finally {
    waiting.release();
  }
}

/** The text of the first part; undefined if it is not UTF-8. Throws a RangeError if it is longer than the limit. */
export async function firstPart(
  reader: MultipartReader,
  maxBytes: number,
  {
    signal,
    hold,
  }: { readonly signal?: AbortSignal; readonly hold?: (bytes: number) => undefined } = {},
): Promise<string | undefined> {
  if (!(await reader.next())) throw new MultipartError("there is no message");
  const chunks = { read: () => reader.chunk(), cancel: () => reader.cancel() };
  const bytes = await readAll(streamFrom(chunks), maxBytes, signal, hold);
  return decodeUtf8(bytes, 0, bytes.length);
}

function streamFrom(source: ByteSource): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = await source.read();
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
}

/** What is held of a part while the program reads a later one. */
const mostHeld = 4 * 1024 * 1024;

/** One part, as far as it has arrived and was not read. */
interface Slot {
  readonly chunks: UnreadChunks;
  isEnded: boolean;
  /** Whether the program has begun to read it. */
  isRead: boolean;
  /** Whether the program has stopped reading it. */
  isDropped: boolean;
  /** The program waits for more. */
  wake: (() => void) | undefined;
}

/** The parts of a multipart body after its first, which arrive one after the other while the program reads them. */
export class ArrivingParts implements Attachments {
  readonly maxBytes: number | undefined;
  readonly #reader: MultipartReader;
  /** Undefined for replies, which have a limit of their own. */
  readonly #waiting: WaitingBytes | undefined;
  readonly #slots = new Map<number, Slot>();
  readonly #opened = new Set<number>();
  /** The part that arrives; 0 is the message, which was read to its end. */
  #current = 0;
  #isPumping = false;
  #failure: unknown;

  constructor(reader: MultipartReader, maxBytes?: number, buffers?: WireBuffers) {
    this.#reader = reader;
    this.maxBytes = maxBytes;
    const shed = (): void => this.#fail(asError(bytesOverload));
    this.#waiting = buffers && new WaitingBytes(buffers, shed);
  }

  /** Whether the body has not arrived to its end. */
  get isArriving(): boolean {
    return !this.#reader.isOver;
  }

  open(part: number): ReadableStream<Uint8Array> {
    if (this.#opened.has(part)) throw new TypeError(`part ${part} was already opened`);
    this.#opened.add(part);
    const slot = this.#slot(part);
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const chunk = await this.#read(part, slot);
          if (chunk === undefined) controller.close();
          else controller.enqueue(chunk);
        },
        cancel: () => this.#drop(slot),
      },
      { highWaterMark: 0 },
    );
  }

  discard(): void {
    this.#fail(new TypeError("the call has ended"));
    this.#waiting?.release();
  }

  /** Fails everything that reads, if the body has not arrived to its end. */
  #fail(error: unknown): void {
    if (this.#failure !== undefined || this.#reader.isOver) return;
    this.#failure = error;
    this.#reader.cancel();
    this.#waiting?.release();
    for (const slot of this.#slots.values()) {
      slot.chunks.clear();
      slot.wake?.();
    }
  }

  async #read(part: number, slot: Slot): Promise<Uint8Array | undefined> {
    slot.isRead = true;
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const chunk = slot.chunks.shift();
      if (chunk !== undefined) {
        this.#waiting?.add(-chunk.length);
        // A reader of a later part may have waited for this one.
        void this.#pump();
        return chunk;
      }
      if (slot.isEnded) return undefined;
      if (this.#reader.isOver) throw new TypeError(`part ${part} is missing`);
      const more = new Promise<void>((resolve) => {
        slot.wake = resolve;
      });
      void this.#pump();
      await more;
    }
  }

  #drop(slot: Slot): void {
    slot.isDropped = true;
    slot.isRead = true;
    this.#waiting?.add(-slot.chunks.length);
    slot.chunks.clear();
    // The sender of a reply stops only if its connection closes. All parts were opened when the result was decoded.
    const isReply = this.maxBytes !== undefined;
    const slots = [...this.#slots.values()];
    if (isReply && slots.every(({ isDropped, isEnded }) => isDropped || isEnded)) this.discard();
  }

  /** Reads on as long as the program waits for something. */
  async #pump(): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      while (this.#isAwaited() && !this.#isHeldUp() && this.#failure === undefined)
        await this.#step();
    } catch (error) {
      this.#fail(error);
    }
    this.#isPumping = false;
  }

  async #step(): Promise<void> {
    const slot = this.#slot(this.#current);
    const chunk = this.#current === 0 ? undefined : await this.#reader.chunk();
    if (chunk !== undefined) {
      if (slot.isDropped) return;
      slot.chunks.push(chunk);
      this.#waiting?.add(chunk.length);
    } else {
      slot.isEnded = true;
      if (await this.#reader.next()) this.#current++;
      // The parts that others wait for are missing.
      else for (const each of this.#slots.values()) wake(each);
    }
    wake(slot);
  }

  #isAwaited(): boolean {
    for (const { wake } of this.#slots.values()) if (wake !== undefined) return true;
    return false;
  }

  /** Whether the current part has to be read first. */
  #isHeldUp(): boolean {
    const slot = this.#slot(this.#current);
    if (slot.wake !== undefined || slot.chunks.length < mostHeld) return false;
    // Its reader is slow, but will continue.
    if (!slot.isRead) {
      const sentence = `part ${this.#current} must be read before the parts after it`;
      this.#fail(new TypeError(sentence));
    }
    return true;
  }

  #slot(part: number): Slot {
    const known = this.#slots.get(part);
    if (known !== undefined) return known;
    const slot = {
      chunks: new UnreadChunks(),
      isEnded: false,
      isRead: false,
      isDropped: false,
      wake: undefined,
    };
    this.#slots.set(part, slot);
    return slot;
  }
}

function wake(slot: Slot): void {
  const run = slot.wake;
  slot.wake = undefined;
  run?.();
}
