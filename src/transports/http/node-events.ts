import type { ServerResponse } from "node:http";
import type { EventSink } from "./events.ts";

/** Runs when a response is closed; soon where it was closed before, since a client may leave while it is judged. */
export function whenClosed(response: ServerResponse, run: () => void): void {
  if (response.closed) queueMicrotask(run);
  else response.on("close", run);
}

/** A response of Node's that carries events. */
export class NodeEventSink implements EventSink {
  readonly #response: ServerResponse;
  #draining: Promise<void> | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get full(): boolean {
    return this.#response.writableNeedDrain;
  }

  get bufferedBytes(): number {
    return this.#response.writableLength;
  }

  write(text: string): void {
    if (!this.#response.destroyed && !this.#response.writableEnded) this.#response.write(text);
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
    if (!this.#response.writableEnded) this.#response.end();
  }

  cut(): void {
    this.#response.destroy();
  }
}
