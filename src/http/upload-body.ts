import type { FrameDecoder, FrameSink } from "../framing/framing.ts";
import { newlineFraming } from "../framing/newline.ts";
import { type Envelope, isEnvelope } from "../protocol/envelope.ts";
import { parseJson } from "../protocol/json-text.ts";
import { type Buffering, heapBytes } from "../protocol/memory-bounds.ts";
import type { Id } from "../protocol/message.ts";
import type { Origin } from "../protocol/origin.ts";
import type { ServerRunning } from "../protocol/server-running.ts";
import { failUploads, itemUnreadable, receiveUpload } from "../protocol/upload.ts";
import type { BodyFault, MessageLimits } from "./http-message.ts";

/** What a line takes besides its characters: most of its memory, if it is short. */
const bytesOfLine = 64;

/** Receives the first line of a body, or why there is none. */
export interface UploadReader {
  begun(line: string): void;
  failed(fault: BodyFault): void;
}

/**
 * A body of lines that arrives while its call runs: the request, and then the items that it uploads. Reading stops where
 * the handler does.
 */
export class UploadBody implements Buffering, FrameSink {
  /** Whether more of it may arrive. */
  isArriving = true;
  readonly #limits: MessageLimits;
  readonly #reader: UploadReader;
  readonly #decoder: FrameDecoder;
  readonly #lines: string[] = [];
  /** Bytes that arrived and did not make a line yet. */
  #partial = 0;
  #waiting = 0;
  #credit = 0;
  #hasBegun = false;
  #isOver = false;
  #take: ((line: string | undefined) => void) | undefined;
  #resume: (() => void) | undefined;

  constructor(limits: MessageLimits, reader: UploadReader) {
    this.#limits = limits;
    this.#reader = reader;
    this.#decoder = newlineFraming.decoder(limits);
    limits.buffers.opened(this);
  }

  /** Whether the rest of it is not needed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get bufferedBytes(): number {
    return this.#partial + this.#waiting;
  }

  /** The call has begun: its items go to its origin. */
  begin(running: ServerRunning, origin: Origin): void {
    this.#take = (line) => {
      const message = line === undefined ? undefined : (parseJson(line) as Envelope | undefined);
      if (line === undefined) endUploads(origin);
      else if (!isEnvelope(message) || message.method !== "$/upload") {
        failUploads(running, origin, itemUnreadable);
      } else receiveUpload(running, origin, message.params, line.length, heapBytes(line));
    };
  }

  /** The handler asks for more items. */
  grant(count: number): void {
    this.#credit += count;
    this.#deliver();
  }

  /** Takes a chunk; returns a promise if no more should be read until it resolves. */
  push(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    const before = this.bufferedBytes;
    this.#partial += chunk.length;
    this.#decoder.push(chunk, this);
    this.#limits.buffers.moved(Math.max(0, this.bufferedBytes - before));
    this.#deliver();
    if (this.#isOver || this.#credit > 0 || !this.#hasBegun) return undefined;
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  /** The body is complete. */
  end(): void {
    this.isArriving = false;
    if (this.#isOver) return;
    this.#decoder.end(this);
    if (!this.#hasBegun) this.fail("unreadable");
    else this.#deliver();
  }

  /** The call is over, so that nothing more is read. */
  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#lines.length = 0;
    this.#limits.buffers.closed(this);
    this.#resume?.();
  }

  fail(fault: BodyFault): void {
    if (this.#isOver) return;
    this.stop();
    this.#reader.failed(fault);
  }

  shed(): void {
    this.fail("overload");
  }

  text(line: string): void {
    this.#partial = 0;
    if (this.#hasBegun) {
      this.#lines.push(line);
      this.#waiting += line.length + bytesOfLine;
    } else {
      this.#hasBegun = true;
      this.#reader.begun(line);
    }
  }

  fault({ kind }: { readonly kind: string }): void {
    if (!this.#hasBegun) this.fail(kind === "oversize" ? "too-large" : "unreadable");
    // The place of an item that cannot be read; the call fails there.
    else this.text("");
  }

  #deliver(): void {
    while (this.#credit > 0 && !this.#isOver) {
      const line = this.#lines.shift();
      if (line === undefined) break;
      this.#credit--;
      this.#waiting -= line.length + bytesOfLine;
      this.#take?.(line);
    }
    if (this.#lines.length === 0 && !this.isArriving && !this.#isOver) this.#take?.(undefined);
    if (this.#credit === 0) return;
    this.#resume?.();
    this.#resume = undefined;
  }
}

/** The end of the body ends the upload of its call. */
function endUploads(origin: Origin): void {
  for (const [, upload] of origin.uploads?.list() ?? []) upload.end();
}

/** A peer that uploads with the body of its request. */
export function grantsOf(body: UploadBody): (id: Id, count: number) => void {
  return (_, count) => body.grant(count);
}
