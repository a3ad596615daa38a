import type { Readable, Writable } from "node:stream";
import type { ByteListener, ByteStream } from "../connection/stream-channel.ts";

/** What differs between a socket, a child process and the streams of this process. */
export interface StreamControl {
  /** Sends what is queued, then closes. */
  end(): void;
  /** Closes at once. */
  destroy(): void;
  /** Called when reading stops and resumes; `unread` if it stopped because the peer does not read. */
  paused?(paused: boolean, unread: boolean): void;
}

/** Node streams as one duplex stream of bytes. Its creator calls `over`. */
export class NodeByteStream implements ByteStream {
  readonly #readable: Readable;
  readonly #writable: Writable;
  readonly #write: Writable["write"];
  readonly #control: StreamControl;
  readonly #written = (): void => this.#afterWrite();
  #listener: ByteListener | undefined;
  #behind = false;
  #over = false;

  constructor(readable: Readable, writable: Writable, control: StreamControl) {
    this.#readable = readable;
    this.#writable = writable;
    // Kept, because the guard of stdout replaces `write` there.
    this.#write = writable.write;
    this.#control = control;
  }

  get bufferedBytes(): number {
    return this.#writable.writableLength;
  }

  listen(listener: ByteListener): void {
    this.#listener = listener;
    this.#readable.on("data", (chunk: Uint8Array) => listener.data(chunk));
  }

  write(data: string | Uint8Array): void {
    const writable = this.#writable;
    if (!writable.writable) return;
    // Copying ASCII takes a third of the time of encoding it.
    const isAscii = typeof data === "string" && Buffer.byteLength(data) === data.length;
    this.#write.call(writable, data, isAscii ? "latin1" : "utf8", this.#written);
    if (writable.writableLength > 0) this.#behind = true;
  }

  /** Runs when everything written has been sent, or can no longer be sent. */
  flushed(run: () => void): void {
    if (this.#writable.writable) this.#write.call(this.#writable, "", "utf8", run);
    else run();
  }

  pause(unread: boolean): void {
    this.#readable.pause();
    this.#control.paused?.(true, unread);
  }

  resume(): void {
    this.#control.paused?.(false, false);
    this.#readable.resume();
  }

  end(): void {
    this.#control.end();
  }

  destroy(): void {
    this.#control.destroy();
  }

  /** The stream is closed. */
  over(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#listener?.end(error);
  }

  /** Node's "drain" event comes only above its own high-water mark, which may be above ours. */
  #afterWrite(): void {
    // A destroyed stream calls back for everything that it drops, and held messages must not be handled then.
    if (!this.#behind || this.#writable.destroyed || this.#writable.writableLength > 0) return;
    this.#behind = false;
    this.#listener?.drain();
  }
}
