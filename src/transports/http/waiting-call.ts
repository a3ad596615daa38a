import { countedFromBytes } from "../../http/body-bytes.ts";
import type { SentBody } from "../../http/content-coding.ts";
import type { Exchange } from "../../http/exchange.ts";
import type { Buffering, WireBuffers } from "../../protocol/memory-bounds.ts";

/** A call whose body has arrived and that may have to wait. A long body counts as memory until the call runs. */
export class WaitingCall implements Buffering {
  readonly exchange: Exchange;
  readonly bufferedBytes: number;
  /** Undefined if it is not UTF-8. */
  text: string | undefined;
  /** The body exactly as it was sent, if that is known. */
  sent: SentBody | undefined;
  readonly #buffers: WireBuffers;
  readonly #answer: (call: WaitingCall) => void;
  /** Whether it was refused because all connections buffer too much. */
  isRefused = false;

  constructor(
    exchange: Exchange,
    text: string | undefined,
    sent: SentBody | undefined,
    buffers: WireBuffers,
    answer: (call: WaitingCall) => void,
  ) {
    this.exchange = exchange;
    this.text = text;
    this.sent = sent;
    this.#buffers = buffers;
    this.#answer = answer;
    this.bufferedBytes = text?.length ?? 0;
    if (this.bufferedBytes < countedFromBytes) return;
    buffers.opened(this);
    buffers.moved(this.bufferedBytes);
  }

  /** Whether its caller no longer waits for it. */
  get isGone(): boolean {
    return this.isRefused || this.exchange.isGone;
  }

  run(): void {
    this.ended();
    if (!this.isRefused) this.#answer(this);
  }

  /** It no longer waits: it is about to run, or never will. */
  ended(): void {
    if (this.bufferedBytes >= countedFromBytes) this.#buffers.closed(this);
  }

  shed(): void {
    this.isRefused = true;
    // It stays in its queue, but its body does not.
    this.text = undefined;
    this.sent = undefined;
    this.ended();
    this.exchange.failed("overload");
  }
}
