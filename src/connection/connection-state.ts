import { connectionLost, WireError } from "../protocol/errors.ts";
import type { Limits } from "../protocol/limits.ts";
import type { Log } from "../protocol/log.ts";
import type { Buffering } from "../protocol/memory-bounds.ts";
import type { Params } from "../protocol/message.ts";
import type { Origin } from "../protocol/origin.ts";
import { abandonCalls } from "../protocol/origin-calls.ts";
import type { Running } from "../protocol/running.ts";
import { requestText } from "../protocol/serialize.ts";
import type { Tap } from "../protocol/tap.ts";
import type { Watches } from "../protocol/watch.ts";
import { Backpressure } from "./backpressure.ts";
import type { Channel, CloseReason } from "./channel.ts";
import { Pending } from "./pending.ts";

export interface ConnectionParts {
  readonly channel: Channel;
  readonly origin: Origin;
  readonly running: Running;
  readonly limits: Limits;
  readonly log: Log;
  readonly tap: Tap | undefined;
  readonly watch: Watches | undefined;
}

/** What sending and receiving share: the channel while it is open, and the calls of both ends. */
export class ConnectionState implements Buffering {
  readonly origin: Origin;
  readonly pending = new Pending();
  readonly backpressure: Backpressure = new Backpressure(this);
  readonly running: Running;
  readonly limits: Limits;
  readonly log: Log;
  readonly tap: Tap | undefined;
  readonly watch: Watches | undefined;
  /** Resolves when the channel is gone, with the error if it broke. */
  readonly closed: Promise<Error | undefined>;
  readonly #channel: Channel;
  readonly #waiting: (() => void)[] = [];
  /** Messages of the peer that could be read. */
  received = 0;
  #open = true;
  #gone = false;
  #tellClosed: (error: Error | undefined) => void = () => {};

  constructor({ channel, origin, running, limits, log, tap, watch }: ConnectionParts) {
    this.#channel = channel;
    this.origin = origin;
    this.running = running;
    this.limits = limits;
    this.log = log;
    this.tap = tap;
    this.watch = watch;
    this.closed = new Promise((resolve) => {
      this.#tellClosed = resolve;
    });
    watch?.connection(origin.transport.kind, 1);
    running.buffers.opened(this);
  }

  get isOpen(): boolean {
    return this.#open;
  }

  write(text: string): void {
    if (!this.#open) return;
    this.tap?.(text, "sent");
    this.#channel.send(text);
    this.running.buffers.moved(text.length);
  }

  reply(text: string): void {
    // The replies of one turn may be many and long; a channel that holds lets no more calls in.
    if (this.#channel.holds || this.#hasRoom()) this.write(text);
  }

  notify(method: string, params?: Params): boolean {
    if (!this.#open) return false;
    const text = requestText({ jsonrpc: "2.0", method, params });
    if (this.#hasRoom()) this.write(text);
    return this.#open;
  }

  /** Undefined while the wire takes more. */
  ready(): Promise<void> | undefined {
    if (!this.#open || this.#channel.bufferedBytes < this.limits.maxBufferedBytes / 4)
      return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  get bufferedBytes(): number {
    return this.#channel.bufferedBytes + (this.#channel.arrivingBytes ?? 0);
  }

  shed(): void {
    if (!this.#open) return;
    const { bufferedBytes: bytes } = this;
    this.log.warn({ bytes }, "closing a connection because all buffer too much together");
    // At once: what waits for a last word to go out would stay in memory, where it is not counted any more.
    this.close(new WireError("CONNECTION_LOST", "the other end is too slow"), "dead");
  }

  get canPause(): boolean {
    return this.#channel.pause !== undefined;
  }

  /** Stops reading, on wires that can make the peer wait. */
  pause(): void {
    this.#channel.pause?.();
  }

  resume(): void {
    this.#channel.resume?.();
  }

  /** The wire takes more again. */
  drain(): void {
    if (this.#waiting.length === 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Shuts, lets what was sent go out, and closes the channel. */
  close(error: WireError, reason: CloseReason): void {
    this.shut(error);
    this.#channel.close(reason);
  }

  /** Nothing is sent or answered any more; what was open fails. */
  shut(error: WireError): void {
    if (!this.#open) return;
    this.#open = false;
    this.backpressure.stop();
    this.running.buffers.closed(this);
    this.pending.fail(error);
    abandonCalls(this.running, this.origin, connectionLost);
    this.drain();
  }

  /** The channel is gone. */
  end(error: Error | undefined): void {
    const sentence = error?.message ?? "the other end closed the connection";
    this.shut(new WireError("CONNECTION_LOST", sentence, { cause: error }));
    if (!this.#gone) this.watch?.connection(this.origin.transport.kind, -1);
    this.#gone = true;
    this.#tellClosed(error);
  }

  /** False when so much waits that the other end counts as one that does not read, and is cut off. */
  #hasRoom(): boolean {
    const { bufferedBytes } = this.#channel;
    // Looked at before sending: one long message alone does not make a slow reader.
    if (!this.#open || bufferedBytes <= this.limits.maxBufferedBytes) return true;
    this.log.warn({ bytes: bufferedBytes }, "closing a connection that does not read");
    this.close(new WireError("CONNECTION_LOST", "the other end does not read"), "slow-reader");
    return false;
  }
}
