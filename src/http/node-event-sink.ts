import type { ServerResponse } from "node:http";
import type { EventSink } from "./event-peer.ts";
import type { MessageLimits } from "./http-message.ts";
import { countable, countUnread, hasRoomFor } from "./unread-reply.ts";

/** Runs when a response closes; soon if it has closed, since a client may leave while its request is checked. */
export function whenClosed(response: ServerResponse, run: () => void): void {
  if (response.closed) queueMicrotask(run);
  else response.on("close", run);
}

/** A response of Node's that carries events. */
export class NodeEventSink implements EventSink {
  readonly #response: ServerResponse;
  readonly #limits: Pick<MessageLimits, "buffers" | "writeTimeoutMs">;
  /** Whether unread data waits for the reader, so that its time runs. */
  #isAwaited = false;
  readonly #written = (): void => this.#watch();
  #draining: Promise<void> | undefined;

  constructor(response: ServerResponse, limits: Pick<MessageLimits, "buffers" | "writeTimeoutMs">) {
    this.#response = response;
    this.#limits = limits;
  }

  get full(): boolean {
    return this.#response.writableNeedDrain;
  }

  get bufferedBytes(): number {
    return this.#response.writableLength;
  }

  /** Whether so much may be written; disconnects the client if it is too much. */
  takes(length: number): boolean {
    if (this.#response.destroyed || this.#response.writableEnded) return false;
    return hasRoomFor(length, this.#response, this.#limits.buffers);
  }

  write(body: string | Buffer): void {
    if (!this.takes(body.length)) return;
    this.#response.write(typeof body === "string" ? countable(body) : body, this.#written);
    this.#watch();
  }

  flush(): void {
    this.#response.flushHeaders();
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
    countUnread(this.#response, this.#response.writableLength, this.#limits);
  }

  cut(): void {
    this.#response.destroy();
  }

  /** Node destroys the socket if nothing leaves it in time. */
  #watch(): void {
    const { writeTimeoutMs } = this.#limits;
    const isAwaited = this.#response.writableLength > 0;
    if (isAwaited === this.#isAwaited || writeTimeoutMs === 0) return;
    this.#isAwaited = isAwaited;
    this.#response.setTimeout(isAwaited ? writeTimeoutMs : 0);
  }
}
