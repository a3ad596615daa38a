import type { ServerResponse } from "node:http";
import type { Buffering } from "../protocol/memory-bounds.ts";
import type { MessageLimits } from "./http-message.ts";

/** A longer reply may not fit into the buffers of the operating system, so its client has to read. */
export const largeReplyLength = 64 * 1024;

/** The rest of a response that has ended and was not read yet. */
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

/** Disconnects a client that does not read a large reply in time, or one of those that read least if all buffer too much. */
export function countUnread(
  response: ServerResponse,
  length: number,
  { buffers, writeTimeoutMs }: Pick<MessageLimits, "buffers" | "writeTimeoutMs">,
): void {
  if (length <= largeReplyLength || response.writableLength === 0) return;
  response.setTimeout(writeTimeoutMs);
  const unread = new UnreadReply(response);
  buffers.opened(unread);
  response.once("close", () => buffers.closed(unread));
  buffers.moved(length);
}
