import type { ServerResponse } from "node:http";
import type { Buffering, WireBuffers } from "../protocol/wire-buffers.ts";

/** A longer reply may not fit into the buffers of the operating system, so its client has to read. */
const largeReplyLength = 64 * 1024;

/** A large reply that its client has not read yet. */
class UnreadReply implements Buffering {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get bufferedBytes(): number {
    return this.#response.writableLength;
  }

  shed(): void {
    this.#response.destroy();
  }
}

/** Ends a response. A client that does not read a large one is disconnected after a time, or when all buffer too much. */
export function endReply(
  response: ServerResponse,
  text: string,
  buffers: WireBuffers,
  writeTimeoutMs: number,
): void {
  response.end(text);
  if (text.length <= largeReplyLength || response.writableLength === 0) return;
  response.setTimeout(writeTimeoutMs);
  const unread = new UnreadReply(response);
  buffers.opened(unread);
  response.once("close", () => buffers.closed(unread));
  buffers.moved(text.length);
}
