import type { ServerResponse } from "node:http";
import { defaultWriteTimeoutMs, type EventSink } from "./event-peer.ts";

/** Runs when a response is closed; soon where it was closed before, since a client may leave while it is judged. */
export function whenClosed(response: ServerResponse, run: () => void): void {
  if (response.closed) queueMicrotask(run);
  else response.on("close", run);
}

/** A response of Node's that carries events. */
export class NodeEventSink implements EventSink {
  readonly #response: ServerResponse;
  readonly #writeTimeoutMs: number;
  /** Whether the reader has not taken everything, and has only so much time to take more. */
  #isAwaited = false;
  readonly #written = (): void => this.#watch();
  #draining: Promise<void> | undefined;

  /** A reader that takes nothing for so long is cut off; 0 waits for ever. */
  constructor(response: ServerResponse, writeTimeoutMs = defaultWriteTimeoutMs) {
    this.#response = response;
    this.#writeTimeoutMs = writeTimeoutMs;
  }

  get full(): boolean {
    return this.#response.writableNeedDrain;
  }

  get bufferedBytes(): number {
    return this.#response.writableLength;
  }

  write(text: string): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    this.#response.write(text, this.#written);
    this.#watch();
  }

  ready(): Promise<void> | undefined {
    if (!this.#response.writableNeedDrain || this.#response.destroyed) return undefined;
    this.#draining ??= new Promise((resolve) => {
      const done = (): void => {
        this.#response.off("drain", done);
        this.#response.off("close", done);
        this.#draining = undefined;
        resolve();
      };
      this.#response.on("drain", done);
      this.#response.on("close", done);
    });
    return this.#draining;
  }

  end(): void {
    if (this.#response.writableEnded) return;
    this.#response.end();
    this.#watch();
  }

  cut(): void {
    this.#response.destroy();
  }

  /** Node destroys the socket if nothing leaves it in time. */
  #watch(): void {
    const isAwaited = this.#response.writableLength > 0;
    if (isAwaited === this.#isAwaited || this.#writeTimeoutMs === 0) return;
    this.#isAwaited = isAwaited;
    this.#response.setTimeout(isAwaited ? this.#writeTimeoutMs : 0);
  }
}
