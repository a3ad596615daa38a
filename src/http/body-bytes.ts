import { type PendingBytes, pendingAfter } from "../framing/pending-bytes.ts";
import { decodeUtf8 } from "../framing/utf8.ts";
import type { Buffering } from "../protocol/memory-bounds.ts";
import type { BodyFault, MessageLimits } from "./http-message.ts";

/** Bodies shorter than this are not counted: even a thousand of them take little memory. */
export const countedFromBytes = 16 * 1024;

/** The bytes of a body that still arrives, up to a limit. */
export class BodyBytes implements Buffering {
  bufferedBytes = 0;
  hasFailed = false;
  readonly #limits: MessageLimits;
  readonly #failed: (fault: BodyFault) => void;
  #first: Uint8Array | undefined = undefined;
  #all: PendingBytes | undefined = undefined;
  #isCounted = false;

  /** `failed` is called at most once, and what is added after it is dropped. */
  constructor(limits: MessageLimits, failed: (fault: BodyFault) => void) {
    this.#limits = limits;
    this.#failed = failed;
  }

  /** True if the bytes count from now on, until they are taken or discarded. */
  add(chunk: Uint8Array, isLast: boolean): boolean {
    if (this.hasFailed) return false;
    this.bufferedBytes += chunk.length;
    if (this.bufferedBytes > this.#limits.maxMessageBytes) {
      this.#fail("too-large");
      return false;
    }
    if (this.#first === undefined) this.#first = chunk;
    else {
      // Copied: chunks of a byte each would take a hundred times their length.
      this.#all ??= pendingAfter(this.#first);
      this.#all.append(chunk, 0, chunk.length);
    }
    return this.bufferedBytes >= countedFromBytes && !isLast && this.#count(chunk.length);
  }

  /** The text of all bytes; undefined if they are not UTF-8. */
  takeText(): string | undefined {
    const all = this.#all;
    if (all !== undefined) {
      this.discard();
      return all.takeText();
    }
    const bytes = this.takeBytes();
    return decodeUtf8(bytes, 0, bytes.length);
  }

  takeBytes(): Uint8Array {
    this.discard();
    const bytes = this.#all?.takeBytes() ?? this.#first ?? new Uint8Array(0);
    // Part of a chunk, which also has the requests that follow, and the request lives as long as its call.
    this.#first = undefined;
    return bytes;
  }

  /** They no longer count. */
  discard(): void {
    if (!this.#isCounted) return;
    this.#isCounted = false;
    this.#limits.buffers.closed(this);
  }

  shed(): void {
    this.#fail("overload");
  }

  #count(added: number): boolean {
    const { buffers } = this.#limits;
    const isFirst = !this.#isCounted;
    this.#isCounted = true;
    if (isFirst) buffers.opened(this);
    buffers.moved(isFirst ? this.bufferedBytes : added);
    return isFirst;
  }

  #fail(fault: BodyFault): void {
    this.hasFailed = true;
    this.discard();
    this.#first = undefined;
    this.#all = undefined;
    this.#failed(fault);
  }
}
