import { WireError } from "../protocol/errors.ts";
import type { FrameDecoder, FrameFault, FrameSink, Framing } from "../framing/framing.ts";
import type { Channel, ChannelListener, CloseReason } from "./channel.ts";

/** A duplex stream of bytes: a socket, a pipe, a pair of standard streams. */
export interface ByteStream {
  /** Queues bytes; text is sent as UTF-8. */
  write(data: string | Uint8Array): void;
  /** How much was queued and has not left. */
  readonly bufferedBytes: number;
  listen(listener: ByteListener): void;
  /** Lets what was queued go out, then closes. */
  end(): void;
  /** Closes at once. */
  destroy(): void;
}

export interface ByteListener {
  data(chunk: Uint8Array): void;
  drain(): void;
  end(error?: Error): void;
}

export interface StreamChannelOptions {
  readonly framing: Framing;
  readonly maxMessageBytes: number;
}

/** Text messages over a stream of bytes, told apart by a framing. */
export class StreamChannel implements Channel, ByteListener, FrameSink {
  readonly #stream: ByteStream;
  readonly #framing: Framing;
  readonly #decoder: FrameDecoder;
  #listener: ChannelListener | undefined;
  #queued: (string | Uint8Array)[] = [];
  #queuedBytes = 0;
  #ended = false;

  constructor(stream: ByteStream, options: StreamChannelOptions) {
    this.#stream = stream;
    this.#framing = options.framing;
    this.#decoder = options.framing.decoder({ maxMessageBytes: options.maxMessageBytes });
  }

  get bufferedBytes(): number {
    return this.#queuedBytes + this.#stream.bufferedBytes;
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
    this.#stream.listen(this);
  }

  send(text: string): void {
    const frame = this.#framing.encode(text);
    this.#queuedBytes += frame.length;
    if (this.#queued.push(frame) === 1) queueMicrotask(() => this.#flush());
  }

  close(reason: CloseReason = "done"): void {
    this.#flush();
    // A reader that does not read would never let the rest go out.
    if (reason === "slow-reader" || reason === "dead") this.#stream.destroy();
    else this.#stream.end();
  }

  data(chunk: Uint8Array): void {
    if (!this.#ended) this.#decoder.push(chunk, this);
  }

  drain(): void {
    this.#listener?.drain();
  }

  end(error?: Error): void {
    if (this.#ended) return;
    if (error === undefined) this.#decoder.end(this);
    this.#ended = true;
    this.#listener?.end(error);
  }

  text(message: string): void {
    this.#listener?.message(message);
  }

  fault(fault: FrameFault): void {
    if (fault.kind !== "truncated") {
      this.#listener?.fault({
        kind: fault.kind === "oversize" ? "oversize" : "unreadable",
        message: fault.message,
      });
    }
    if (!fault.fatal) return;
    this.#ended = true;
    this.#flush();
    this.#stream.end();
    this.#listener?.end(new WireError("BAD_REPLY", fault.message));
  }

  /** What was sent in one turn leaves in one write. */
  #flush(): void {
    if (this.#queued.length === 0) return;
    const frames = this.#queued;
    this.#queued = [];
    this.#queuedBytes = 0;
    this.#stream.write(joined(frames));
  }
}

function joined(frames: readonly (string | Uint8Array)[]): string | Uint8Array {
  const [first] = frames;
  if (frames.length === 1 && first !== undefined) return first;
  if (typeof first === "string") return frames.join("");
  const parts = frames as readonly Uint8Array[];
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
