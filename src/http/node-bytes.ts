import type { IncomingMessage, ServerResponse } from "node:http";
import type { ByteSource } from "./multipart-reader.ts";

/**
 * The body of a request, read no faster than it is used. `pause()` would not do: on a connection that the fast path
 * handed over, Node continues to read the socket.
 */
export class NodeByteSource implements ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>;

  constructor(request: IncomingMessage) {
    this.#chunks = request.iterator({ destroyOnReturn: false });
  }

  async read(): Promise<Uint8Array | undefined> {
    try {
      const { done, value } = await this.#chunks.next();
      return done ? undefined : value;
    } catch (cause) {
      throw new Error("the client disconnected while it sent its request", { cause });
    }
  }

  cancel(): void {
    void this.#chunks.return?.();
  }
}

/** Sends bytes as fast as the client reads them, and disconnects a client that reads nothing for too long. */
export async function writeStream(
  response: ServerResponse,
  bytes: ReadableStream<Uint8Array>,
  writeTimeoutMs: number,
): Promise<void> {
  const reader = bytes.getReader();
  const leave = (): void => void reader.cancel().catch(() => {});
  if (response.destroyed) leave();
  response.on("close", leave);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || response.destroyed) break;
      if (!response.write(value)) await drained(response, writeTimeoutMs);
    }
    response.off("close", leave);
    response.end();
  } catch {
    // The status was sent, so a cut is the only way to say that the rest is missing.
    response.destroy();
  }
}

function drained(response: ServerResponse, writeTimeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      response.setTimeout(0);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
    // Node then destroys the socket.
    response.setTimeout(writeTimeoutMs);
  });
}
