import type { ServerResponse } from "node:http";
import { type Buffering, longLength, type WireBuffers } from "../protocol/memory-bounds.ts";
import { countUnsent } from "../streams/unsent-bytes.ts";
import type { MessageLimits } from "./http-message.ts";

/** A longer reply may not fit into the buffers of the operating system, so its client has to read. */
export const largeReplyLength = longLength;

/** Whether a reply of this length may be buffered; otherwise its client is disconnected. */
export function hasRoomFor(
  length: number,
  response: ServerResponse,
  buffers: WireBuffers,
): boolean {
  if (buffers.hasRoomFor(length)) return true;
  response.destroy();
  return false;
}

/** Sends a large string as bytes, because Node would count its characters, each of which may take three bytes. */
export function countable(text: string): string | Buffer {
  return text.length <= largeReplyLength ? text : Buffer.from(text);
}

/** Disconnects a client that does not read a large reply in time, or one of those that read least if all buffer too much. */
export function countUnread(
  response: ServerResponse,
  length: number,
  { buffers, writeTimeoutMs }: Pick<MessageLimits, "buffers" | "writeTimeoutMs">,
): void {
  if (length <= largeReplyLength || response.writableLength === 0) return;
  response.setTimeout(writeTimeoutMs);
  countUnsent(response, buffers);
}

/** Counts bytes beside a reply until the response is closed. */
export function countHeld(response: ServerResponse, bytes: number, buffers: WireBuffers): void {
  if (bytes === 0 || response.destroyed) return;
  const held = { bufferedBytes: bytes, shed: () => void response.destroy() };
  buffers.opened(held);
  response.once("close", () => buffers.closed(held));
  buffers.moved(bytes);
}

/** A large reply that waits until it is compressed, and counts as unread until then. */
export class UncompressedReply implements Buffering {
  readonly #response: ServerResponse;
  readonly #release: () => void;
  #bytes: Buffer | undefined;

  constructor(text: string, response: ServerResponse, buffers: WireBuffers) {
    this.#bytes = Buffer.from(text);
    this.#response = response;
    const release = (): void => {
      this.#bytes = undefined;
      buffers.closed(this);
      response.off("close", release);
    };
    this.#release = release;
    buffers.opened(this);
    response.once("close", release);
    buffers.moved(this.bufferedBytes);
  }

  get bufferedBytes(): number {
    return this.#bytes?.length ?? 0;
  }

  /** What to compress; undefined if its client is gone. */
  take(): Buffer | undefined {
    const bytes = this.#bytes;
    this.#release();
    return bytes;
  }

  shed(): void {
    // Many replies may be ready in one turn of the event loop, and "close" is emitted after it.
    this.#release();
    this.#response.destroy();
  }
}
