import type { Dispatcher } from "undici";
import type { ByteSource } from "../../http/multipart-reader.ts";
import { WireError } from "../../protocol/errors.ts";

/** The body of a response from a pool, which is paused while its reader is busy. */
export class ResponseBytes implements ByteSource {
  readonly #controller: Dispatcher.DispatchController;
  readonly #chunks: Uint8Array[] = [];
  #isEnded = false;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(controller: Dispatcher.DispatchController) {
    this.#controller = controller;
  }

  push(chunk: Uint8Array): void {
    // The parser gives an empty chunk when it resumes; to pause again would stop it forever.
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#controller.pause();
    this.#wake?.();
  }

  /** The response is over, or its connection broke. */
  end(failure?: Error): void {
    this.#isEnded = true;
    this.#failure = failure;
    this.#wake?.();
  }

  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) return chunk;
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#isEnded) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#controller.resume();
      });
    }
  }

  cancel(): void {
    this.#chunks.length = 0;
    if (!this.#isEnded) this.#controller.abort(new WireError("ABORTED", "the bytes are not read"));
  }
}
