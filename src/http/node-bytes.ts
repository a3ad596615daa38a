import type { IncomingMessage, ServerResponse } from "node:http";
import type { ByteSource } from "./multipart-reader.ts";

/** The body of a request, of which Node reads a chunk ahead at most. */
export class NodeByteSource implements ByteSource {
  readonly #request: IncomingMessage;
  readonly #chunks: Uint8Array[] = [];
  #isEnded = false;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;
  readonly #collect = (chunk: Uint8Array): void => {
    this.#chunks.push(chunk);
    this.#request.pause();
    this.#wake?.();
  };

  constructor(request: IncomingMessage) {
    this.#request = request;
    request.on("data", this.#collect);
    request.pause();
    request.on("end", () => {
      this.#isEnded = true;
      this.#wake?.();
    });
    request.on("close", () => {
      if (!this.#isEnded) this.#failure = new Error("the client left while it sent its request");
      this.#wake?.();
    });
  }

  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) return chunk;
      if (this.#isEnded) return undefined;
      if (this.#failure !== undefined) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#request.resume();
      });
    }
  }

  cancel(): void {
    this.#request.off("data", this.#collect);
    this.#chunks.length = 0;
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
