import type { Writable } from "node:stream";
import type { WireBuffers } from "../protocol/memory-bounds.ts";

/** Counts what a stream still has to send after its last message, until the peer has read it or the stream is closed. */
export function countUnsent(stream: Writable, buffers: WireBuffers): void {
  if (stream.writableLength === 0 || stream.destroyed) return;
  const unsent = {
    get bufferedBytes() {
      return stream.writableLength;
    },
    shed: () => void stream.destroy(),
  };
  buffers.opened(unsent);
  stream.once("close", () => buffers.closed(unsent));
  buffers.moved(stream.writableLength);
}
