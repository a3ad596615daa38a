import type { FrameDecoder, FrameFault, FrameSink, Framing } from "../framing/framing.ts";
import { systemClock, type Timer } from "../protocol/clock.ts";
import { WireError } from "../protocol/errors.ts";
import type { Channel, ChannelListener, CloseReason } from "./channel.ts";
import { SendQueue } from "./send-queue.ts";

/** A duplex stream of bytes: a socket, a pipe, a pair of standard streams. */
export interface ByteStream {
  /** Queues bytes; a string is sent as UTF-8. */
  write(data: string | Uint8Array): void;
  /** Bytes that are queued and not sent. */
  readonly bufferedBytes: number;
  listen(listener: ByteListener): void;
  /** Stops reading, so that the peer has to wait; `unread` if the reason is that the peer does not read. */
  pause(unread: boolean): void;
  resume(): void;
  /** Sends what is queued, then closes. */
  end(): void;
  /** Closes at once. */
  destroy(): void;
}

/** Receives the events of a stream of bytes. */
export interface ByteListener {
  data(chunk: Uint8Array): void;
  /** Everything queued has been sent. */
  drain(): void;
  end(error?: Error): void;
}

export interface StreamChannelOptions {
  /** How messages are separated; both sides must use the same. */
  readonly framing: Framing;
  /** Longest message in bytes; stops peers that fill memory with one. */
  readonly maxMessageBytes: number;
  /** Whether an oversized message closes the stream, rather than being skipped. @default false */
  readonly cutOversize?: boolean;
  /**
   * Stops reading while more than this is unsent: a peer that does not read its replies gets no more of them. For
   * servers only; if both sides stopped, each could wait for the other. @default no limit
   */
  readonly holdAboveBytes?: number;
  /** How long a message may take to arrive; stops peers that send a byte at a time. @default no limit */
  readonly arrivalTimeoutMs?: number;
  /** Runs a function later: what is sent until then leaves in one write. @default queueMicrotask */
  readonly defer?: (flush: () => void) => void;
}

/**
 * Messages over a stream of bytes, separated by a framing.
 * @example
 * ```ts
 * import { type ByteStream, Connection, StreamChannel } from "callwire/connection";
 * import { newlineFraming } from "callwire/framing";
 *
 * declare const serialPort: ByteStream; // a duplex stream of bytes
 * const channel = new StreamChannel(serialPort, { framing: newlineFraming, maxMessageBytes: 65_536 });
 * const transport = { kind: "serial", headers: {}, remoteAddress: undefined };
 * const connection = new Connection(channel, { transport, service: server });
 * ```
 */
export class StreamChannel implements Channel, ByteListener, FrameSink {
  readonly #stream: ByteStream;
  readonly #queue: SendQueue;
  readonly #decoder: FrameDecoder;
  readonly #maxMessageBytes: number;
  readonly #cutOversize: boolean;
  readonly #holdAbove: number;
  readonly #arrivalTimeoutMs: number | undefined;
  readonly #defer: (flush: () => void) => void;
  readonly #flushLater = (): void => this.#flush();
  #listener: ChannelListener | undefined;
  readonly sendBytes: ((frame: Uint8Array) => void) | undefined;
  /** Messages of the chunk during which reading stopped. */
  #held: (string | Uint8Array)[] = [];
  /** Whether reading stopped because too much is unsent. */
  #holding = false;
  /** Whether reading stopped because the listener paused it. */
  #paused = false;
  #arrived = 0;
  #arrivingBytes = 0;
  #arrivalTimer: Timer | undefined;
  #closing = false;
  #ended = false;

  constructor(stream: ByteStream, options: StreamChannelOptions) {
    this.#stream = stream;
    const { framing, defer = queueMicrotask } = options;
    this.#defer = defer;
    this.#queue = new SendQueue((texts) =>
      texts.length === 1 ? framing.encode(texts[0] as string) : framing.encodeAll(texts),
    );
    if (framing.encodeBytes !== undefined) {
      this.sendBytes = (frame) => {
        const framed = framing.encodeBytes?.(frame) as Uint8Array;
        if (this.#queue.addFrame(framed)) this.#defer(this.#flushLater);
      };
    }
    this.#decoder = framing.decoder({ maxMessageBytes: options.maxMessageBytes });
    this.#maxMessageBytes = options.maxMessageBytes;
    this.#cutOversize = options.cutOversize ?? false;
    this.#holdAbove = options.holdAboveBytes ?? Number.POSITIVE_INFINITY;
    this.#arrivalTimeoutMs = options.arrivalTimeoutMs;
  }

  get bufferedBytes(): number {
    return this.#queue.bytes + this.#stream.bufferedBytes;
  }

  get arrivingBytes(): number {
    // Nothing is kept of an oversized message that is skipped.
    return Math.min(this.#arrivingBytes, this.#maxMessageBytes);
  }

  get holds(): boolean {
    return this.#holdAbove !== Number.POSITIVE_INFINITY;
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
    this.#stream.listen(this);
  }

  send(text: string): void {
    if (this.#queue.add(text)) this.#defer(this.#flushLater);
  }

  close(reason: CloseReason = "done"): void {
    this.#stopReading();
    // A peer that does not read would never let the rest leave.
    if (reason === "slow-reader" || reason === "dead") {
      this.#queue.clear();
      this.#stream.destroy();
    } else {
      this.#flush();
      this.#stream.end();
    }
  }

  pause(): void {
    this.#paused = true;
    this.#pauseOrResume();
  }

  resume(): void {
    this.#paused = false;
    this.#takeHeld();
  }

  data(chunk: Uint8Array): void {
    if (this.#closing) return;
    const arrived = this.#arrived;
    this.#decoder.push(chunk, this);
    if (this.#arrived !== arrived) this.#arrivingBytes = 0;
    if (!this.#decoder.open) return;
    this.#arrivingBytes += chunk.length;
    this.#listener?.arriving?.(chunk.length);
    if (this.#arrivalTimeoutMs !== undefined) this.#watchArrival();
  }

  drain(): void {
    this.#flush();
    if (this.#holding && this.bufferedBytes <= this.#holdAbove) {
      this.#holding = false;
      this.#takeHeld();
    }
    this.#listener?.drain();
  }

  end(error?: Error): void {
    if (this.#ended) return;
    const cause = error ?? this.endInput();
    this.#stopReading();
    this.#flush();
    this.#ended = true;
    this.#listener?.end(cause);
  }

  /**
   * The input ended: accepts a last message without its terminator. Returns an error if the input ended within a
   * message.
   */
  endInput(): Error | undefined {
    if (this.#closing) return undefined;
    let cause: Error | undefined;
    this.#decoder.end({
      text: (message) => this.text(message),
      fault: ({ message }) => {
        cause = new WireError("BAD_REPLY", message);
      },
    });
    return cause;
  }

  text(message: string): void {
    this.#arrived++;
    if (this.#closing) return;
    if (this.#isStopped) {
      this.#held.push(message);
      return;
    }
    this.#listener?.message(message);
    if (this.#queue.bytes > this.#holdAbove) this.#flush();
  }

  bytes(frame: Uint8Array): void {
    this.#arrived++;
    if (this.#closing) return;
    if (this.#isStopped) this.#held.push(frame.slice());
    else if (this.#listener?.bytes !== undefined) this.#listener.bytes(frame);
    else this.#listener?.fault({ kind: "unreadable", message: "a message must be text" });
  }

  fault(fault: FrameFault): void {
    if (this.#closing) return;
    this.#arrived++;
    const oversize = fault.kind === "oversize";
    const { message } = fault;
    const isFatal = fault.fatal || (oversize && this.#cutOversize);
    this.#listener?.fault({ kind: oversize ? "oversize" : "unreadable", message, isFatal });
    if (isFatal && !this.#closing) this.#cut(message);
  }

  /** Sends the error, then closes, whatever the peer still sends. */
  #cut(sentence: string): void {
    this.#stopReading();
    this.#ended = true;
    this.#flush();
    this.#stream.end();
    this.#listener?.end(new WireError("BAD_REPLY", sentence));
  }

  #stopReading(): void {
    this.#closing = true;
    this.#held = [];
    this.#arrivalTimer?.cancel();
  }

  /**
   * Messages of one turn leave in one write. What a slow peer does not read stays queued here, where it can be
   * dropped.
   */
  #flush(): void {
    if (this.#queue.isEmpty) return;
    const most = this.#closing ? Number.POSITIVE_INFINITY : this.#holdAbove;
    while (!this.#queue.isEmpty && this.#stream.bufferedBytes <= most)
      this.#stream.write(this.#queue.take(most));
    const { bufferedBytes } = this;
    if (bufferedBytes > this.#holdAbove) this.#hold();
    // Senders that found the queue full wait for `drain`, and a stream emits it only for bytes that did not leave at
    // once.
    if (bufferedBytes === 0) this.#listener?.drain();
  }

  get #isStopped(): boolean {
    return this.#holding || this.#paused;
  }

  #hold(): void {
    if (this.#holding) return;
    this.#holding = true;
    this.#pauseOrResume();
  }

  #takeHeld(): void {
    const held = this.#held;
    this.#held = [];
    for (const message of held) {
      if (typeof message === "string") this.text(message);
      else this.bytes(message);
    }
    this.#pauseOrResume();
  }

  #pauseOrResume(): void {
    if (this.#closing) return;
    if (this.#isStopped) this.#stream.pause(this.#holding);
    else this.#stream.resume();
  }

  /** One timer serves many messages, because a timer per message would cost more than the message. */
  #watchArrival(): void {
    if (this.#arrivalTimer !== undefined || this.#closing) return;
    const arrived = this.#arrived;
    this.#arrivalTimer = systemClock.after(this.#arrivalTimeoutMs as number, () => {
      this.#arrivalTimer = undefined;
      if (!this.#decoder.open || this.#closing) return;
      // Nothing can arrive while reading is stopped.
      if (this.#arrived === arrived && !this.#isStopped)
        this.#cut("A message took too long to arrive.");
      else this.#watchArrival();
    });
  }
}
