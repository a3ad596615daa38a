import type { Buffering, WireBuffers } from "../protocol/memory-bounds.ts";
import type { ErrorObject } from "../protocol/message.ts";
import { busyWith } from "../protocol/standard-errors.ts";

/** Its call has begun. */
export const bytesOverload: ErrorObject = busyWith("all connections buffer too much");

/** Bytes of a multipart body that have arrived and were not read by the program. */
export class WaitingBytes implements Buffering {
  bufferedBytes = 0;
  readonly #buffers: WireBuffers;
  readonly #shed: () => void;
  #isReleased = false;

  /** `shed` runs if all connections buffer too much. */
  constructor(buffers: WireBuffers, shed: () => void) {
    this.#buffers = buffers;
    this.#shed = shed;
  }

  add(bytes: number): undefined {
    if (this.#isReleased) return;
    this.bufferedBytes += bytes;
    if (this.bufferedBytes === 0) this.#buffers.closed(this);
    else {
      this.#buffers.opened(this);
      if (bytes > 0) this.#buffers.moved(bytes);
    }
  }

  /** They no longer count. */
  release(): void {
    this.#isReleased = true;
    this.#buffers.closed(this);
  }

  shed(): void {
    this.release();
    this.#shed();
  }
}
