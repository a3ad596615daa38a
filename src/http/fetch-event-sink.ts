import type { Timer } from "../protocol/clock.ts";
import type { EventSink } from "./event-peer.ts";
import type { MessageLimits } from "./http-message.ts";

const highWaterMark = 64 * 1024;
const encoder = new TextEncoder();

/** The body of a `Response` that carries events. */
export class StreamSink implements EventSink {
  readonly body: ReadableStream<Uint8Array>;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #open = true;
  readonly #draining: (() => void)[] = [];
  readonly #signal: AbortSignal;
  readonly #leave: () => void;
  readonly #gone: (sink: StreamSink) => void;
  readonly #limits: MessageLimits;
  #written = 0;
  #awaiting: Timer | undefined;

  /** `gone` runs if the reader leaves, which cancels the body or aborts its request, or reads nothing for too long. */
  constructor(signal: AbortSignal, limits: MessageLimits, gone: (sink: StreamSink) => void) {
    this.#signal = signal;
    this.#gone = gone;
    this.#limits = limits;
    const leave = (): void => {
      if (!this.#close()) return;
      this.#controller.error(signal.reason);
      gone(this);
    };
    this.#leave = leave;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#wake(),
        cancel: () => {
          this.#close();
          gone(this);
        },
      },
      { highWaterMark, size: (chunk) => chunk.byteLength },
    );
    if (signal.aborted) this.#leave();
    else signal.addEventListener("abort", this.#leave, { once: true });
  }

  get full(): boolean {
    return this.#open && (this.#controller.desiredSize ?? 0) <= 0;
  }

  get bufferedBytes(): number {
    return this.#open ? highWaterMark - (this.#controller.desiredSize ?? 0) : 0;
  }

  write(text: string): void {
    if (!this.#open) return;
    const bytes = encoder.encode(text);
    this.#written += bytes.byteLength;
    this.#controller.enqueue(bytes);
    this.#await();
  }

  /** The headers of a `Response` go out without a body. */
  flush(): void {}

  ready(): Promise<void> | undefined {
    return this.full ? new Promise((resolve) => this.#draining.push(resolve)) : undefined;
  }

  end(): void {
    if (this.#close()) this.#controller.close();
  }

  cut(): void {
    if (this.#close()) this.#controller.error(new Error("the client does not read its events"));
  }

  /** Disconnects a client that reads nothing of what waits for it. */
  #await(): void {
    const { clock, writeTimeoutMs } = this.#limits;
    if (this.#awaiting !== undefined || writeTimeoutMs === 0 || this.bufferedBytes === 0) return;
    const taken = this.#written - this.bufferedBytes;
    this.#awaiting = clock.after(writeTimeoutMs, () => {
      this.#awaiting = undefined;
      if (this.bufferedBytes > 0 && this.#written - this.bufferedBytes === taken) {
        this.cut();
        this.#gone(this);
      } else this.#await();
    });
  }

  #close(): boolean {
    const wasOpen = this.#open;
    this.#open = false;
    this.#awaiting?.cancel();
    this.#signal.removeEventListener("abort", this.#leave);
    this.#wake();
    return wasOpen;
  }

  #wake(): void {
    for (const resolve of this.#draining.splice(0)) resolve();
  }
}
