import type { Timer } from "../protocol/clock.ts";
import type { Buffering } from "../protocol/memory-bounds.ts";
import type { MessageLimits } from "./http-message.ts";

/** A longer chunk would leave the queue as a whole when the runtime asks for the first byte of it. */
const chunkBytes = 64 * 1024;

/** The body of a `Response`, which counts as memory until the runtime has taken all of it. */
export class UnreadBody implements Buffering {
  readonly body: ReadableStream<Uint8Array>;
  readonly bufferedBytes: number;
  readonly #limits: MessageLimits;
  readonly #signal: AbortSignal;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #leave = (): void => this.#cut(this.#signal.reason);
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);
  #awaiting: Timer | undefined;
  #isOver = false;

  /** `held` bytes of it are in memory. The signal aborts when the client is gone. */
  constructor(
    bytes: ReadableStream<Uint8Array>,
    held: number,
    limits: MessageLimits,
    signal: AbortSignal,
  ) {
    this.bufferedBytes = held;
    this.#limits = limits;
    this.#signal = signal;
    this.#reader = bytes.getReader();
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#pull(),
        cancel: (reason) => this.#end(reason),
      },
      { highWaterMark: 0 },
    );
    if (signal.aborted) this.#leave();
    else {
      signal.addEventListener("abort", this.#leave, { once: true });
      this.#count();
    }
  }

  shed(): void {
    this.#cut(new Error("the client does not read its reply"));
  }

  #count(): void {
    const { buffers } = this.#limits;
    this.#await();
    if (!buffers.hasRoomFor(this.bufferedBytes)) {
      this.shed();
      return;
    }
    if (this.bufferedBytes === 0) return;
    buffers.opened(this);
    buffers.moved(this.bufferedBytes);
  }

  async #pull(): Promise<void> {
    this.#awaiting?.cancel();
    try {
      while (this.#rest.length === 0) {
        const { done, value } = await this.#reader.read();
        if (this.#isOver) return;
        if (done) {
          this.#end();
          this.#controller.close();
          return;
        }
        this.#rest = value;
      }
    } catch (error) {
      this.#cut(error);
      return;
    }
    this.#controller.enqueue(this.#rest.subarray(0, chunkBytes));
    this.#rest = this.#rest.subarray(chunkBytes);
    this.#await();
  }

  /** Disconnects a client that reads nothing for too long. */
  #await(): void {
    const { clock, writeTimeoutMs } = this.#limits;
    if (writeTimeoutMs > 0) this.#awaiting = clock.after(writeTimeoutMs, () => this.shed());
  }

  #cut(reason: unknown): void {
    if (this.#isOver) return;
    this.#end(reason);
    this.#controller.error(reason);
  }

  #end(reason?: unknown): void {
    this.#isOver = true;
    this.#awaiting?.cancel();
    this.#signal.removeEventListener("abort", this.#leave);
    this.#limits.buffers.closed(this);
    this.#rest = new Uint8Array(0);
    this.#reader.cancel(reason).catch(() => {});
  }
}
