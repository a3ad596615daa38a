import { type RpcError, WireError } from "../protocol/errors.ts";
import type { Limits } from "../protocol/limits.ts";
import type { Log } from "../protocol/log.ts";
import type { Buffering } from "../protocol/memory-bounds.ts";
import type { Params } from "../protocol/message.ts";
import type { Origin } from "../protocol/origin.ts";
import { abandonCalls } from "../protocol/origin-calls.ts";
import { warnRarely } from "../protocol/rare-warning.ts";
import { requestText } from "../protocol/serialize.ts";
import type { ServerRunning } from "../protocol/server-running.ts";
import { connectionLost } from "../protocol/standard-errors.ts";
import type { Tap } from "../protocol/tap.ts";
import type { Watches } from "../protocol/watch.ts";
import { Backpressure } from "./backpressure.ts";
import type { BytesBeside } from "./bytes-beside.ts";
import type { Channel, CloseReason } from "./channel.ts";
import { Pending } from "./pending.ts";

export interface ConnectionParts {
  readonly channel: Channel;
  readonly origin: Origin;
  readonly running: ServerRunning;
  readonly limits: Limits;
  readonly log: Log;
  readonly tap: Tap | undefined;
  readonly watch: Watches | undefined;
}

/** State that sending and receiving share: the open channel, and the calls of both sides. */
export class ConnectionState implements Buffering {
  readonly origin: Origin;
  readonly pending = new Pending();
  readonly backpressure: Backpressure = new Backpressure(this);
  readonly running: ServerRunning;
  readonly limits: Limits;
  readonly log: Log;
  readonly tap: Tap | undefined;
  readonly watch: Watches | undefined;
  /** Resolves when the channel is closed, with the error if it broke. */
  readonly closed: Promise<Error | undefined>;
  readonly #channel: Channel;
  readonly #waiting: (() => void)[] = [];
  /** The error with which the peer refused the connection. */
  refusal: RpcError | undefined = undefined;
  /** Number of messages of the peer that could be parsed. */
  received = 0;
  /** What travels beside messages, once it was needed. */
  beside: BytesBeside | undefined = undefined;
  /** Loads it, if the wire can carry it. */
  loadBeside: (() => Promise<BytesBeside>) | undefined = undefined;
  /** Whether messages can be sent; changed here only. */
  isOpen = true;
  #isShed = false;
  #gone = false;
  #resolveClosed: (error: Error | undefined) => void = () => {};

  constructor({ channel, origin, running, limits, log, tap, watch }: ConnectionParts) {
    this.#channel = channel;
    this.origin = origin;
    this.running = running;
    this.limits = limits;
    this.log = log;
    this.tap = tap;
    this.watch = watch;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    watch?.connection(origin.transport.kind, 1);
    running.buffers.opened(this);
  }

  write(text: string): void {
    if (!this.isOpen) return;
    this.tap?.(text, "sent");
    this.#channel.send(text);
    this.running.buffers.moved(text.length);
  }

  writeBytes(frame: Uint8Array): void {
    // A peer may ask for bytes that do not exist, again and again, and read none of the answers.
    if (!this.isOpen || !(this.#channel.holds || this.#hasRoom())) return;
    this.#channel.sendBytes?.(frame);
    this.running.buffers.moved(frame.length);
  }

  reply(text: string): void {
    // A channel that stops reading itself needs no check: it lets no more calls in.
    if (this.#fits(text.length) && (this.#channel.holds || this.#hasRoom())) this.write(text);
  }

  notify(method: string, params?: Params): boolean {
    if (!this.isOpen) return false;
    const text = requestText({ jsonrpc: "2.0", method, params });
    if (this.#fits(text.length) && this.#hasRoom()) this.write(text);
    return this.isOpen;
  }

  /** Undefined while the wire accepts more. */
  ready(): Promise<void> | undefined {
    if (!this.isOpen || this.#channel.bufferedBytes < this.limits.maxBufferedBytes / 4)
      return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  get bufferedBytes(): number {
    const { bufferedBytes, arrivingBytes = 0 } = this.#channel;
    return bufferedBytes + arrivingBytes + (this.beside?.unreadBytes ?? 0);
  }

  shed(): void {
    if (!this.isOpen) return;
    // A socket keeps its bytes until it has closed.
    this.#isShed = true;
    const { bufferedBytes: bytes } = this;
    this.warn({ bytes }, "closed a slow connection; all connections buffer too much");
    // At once: bytes that wait for a closing message would stay in memory without being counted.
    this.close(new WireError("CONNECTION_LOST", "the peer reads too slowly"), "dead");
  }

  /** Logs what peers can cause on one connection after the other. */
  warn(fields: object, message: string): void {
    warnRarely(this.log, this.running.clock, fields, message);
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

  /** The wire accepts more again. */
  drain(): void {
    if (this.#waiting.length === 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Fails open calls, sends what is queued, and closes the channel. */
  close(error: WireError, reason: CloseReason): void {
    this.shut(error);
    this.#channel.close(reason);
  }

  /** Stops sending and answering; open calls fail. */
  shut(error: WireError): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.backpressure.stop();
    if (!this.#isShed) this.running.buffers.closed(this);
    this.pending.fail(error);
    abandonCalls(this.running, this.origin, connectionLost);
    this.beside?.close(error);
    this.drain();
  }

  /** The channel is closed. */
  end(error: Error | undefined): void {
    const sentence = error?.message ?? "the peer closed the connection";
    this.shut(new WireError("CONNECTION_LOST", sentence, { cause: error }));
    if (this.#isShed) this.running.buffers.closed(this);
    if (!this.#gone) this.watch?.connection(this.origin.transport.kind, -1);
    this.#gone = true;
    this.#resolveClosed(error);
  }

  /** False if the message is long and all connections buffer too much; then the peer is disconnected. */
  #fits(length: number): boolean {
    if (this.running.buffers.hasRoomFor(length)) return true;
    this.shed();
    return false;
  }

  /** False if too much is unread; then the peer is disconnected as too slow. */
  #hasRoom(): boolean {
    const { bufferedBytes } = this.#channel;
    // Checked before sending: one long message alone does not make a slow reader.
    if (!this.isOpen || bufferedBytes <= this.limits.maxBufferedBytes) return true;
    this.warn({ bytes: bufferedBytes }, "closed a connection whose peer does not read");
    this.close(new WireError("CONNECTION_LOST", "the peer does not read"), "slow-reader");
    return false;
  }
}
