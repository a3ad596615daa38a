import type { Socket } from "node:net";
import { Duplex } from "node:stream";

/**
 * A connection whose request was sent, for undici, which sends it once more: what it writes is dropped, and it reads
 * the reply from its first byte.
 */
export class HandedSocket extends Duplex {
  readonly #socket: Socket;
  /** What arrived before undici has sent its request, because it accepts no reply before. */
  #first: Buffer | undefined;
  #isSent = false;
  #isEnded = false;

  constructor(socket: Socket, bytes: Buffer) {
    super();
    this.#socket = socket;
    this.#first = bytes;
    socket.pause();
    socket.on("data", (chunk: Buffer) => {
      if (!this.push(chunk)) socket.pause();
    });
    socket.on("end", () => {
      this.#isEnded = true;
      if (this.#first === undefined) this.push(null);
    });
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => {
      if (!this.#isEnded) this.destroy(new Error("the server closed the connection"));
    });
  }

  ref(): this {
    this.#socket.ref();
    return this;
  }

  unref(): this {
    this.#socket.unref();
    return this;
  }

  override _read(): void {
    if (this.#first === undefined) this.#socket.resume();
  }

  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    // Not at once, because the request counts as sent only after this.
    if (!this.#isSent) queueMicrotask(() => this.#begin());
    this.#isSent = true;
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #begin(): void {
    const bytes = this.#first;
    this.#first = undefined;
    if (this.destroyed) return;
    if (this.push(bytes)) this.#socket.resume();
    if (this.#isEnded) this.push(null);
  }
}
