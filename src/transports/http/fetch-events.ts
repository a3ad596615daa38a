import type { EventSink } from "./events.ts";

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

  /** `gone` is told when the reader leaves, which cancels the body or aborts its request. */
  constructor(signal: AbortSignal, gone: (sink: StreamSink) => void) {
    this.#signal = signal;
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
    if (this.#open) this.#controller.enqueue(encoder.encode(text));
  }

  ready(): Promise<void> | undefined {
    return this.full ? new Promise((resolve) => this.#draining.push(resolve)) : undefined;
  }

  end(): void {
    if (this.#close()) this.#controller.close();
  }

  cut(): void {
    if (this.#close()) this.#controller.error(new Error("the reader does not read"));
  }

  #close(): boolean {
    const wasOpen = this.#open;
    this.#open = false;
    this.#signal.removeEventListener("abort", this.#leave);
    this.#wake();
    return wasOpen;
  }

  #wake(): void {
    for (const resolve of this.#draining.splice(0)) resolve();
  }
}
