import type { Attachments } from "../protocol/attachments.ts";
import { type FrameKind, roomIn } from "./byte-frames.ts";

/** The wire of a stream that is sent. */
export interface ByteSink {
  frame(kind: FrameKind, bytes: Uint8Array): void;
  /** Undefined while the wire accepts more. */
  ready(): Promise<void> | undefined;
  /** Nothing more is sent. */
  over(): void;
  /** Longest frame that the peer accepts. */
  readonly frameBytes: number;
}

/** Reports about the bytes of a message, for its owner. */
export interface LeavingOwner {
  /** This many bytes were sent. */
  readonly sent?: ((bytes: number) => void) | undefined;
  /** A part could not be read. */
  readonly failed?: ((thrown: unknown) => void) | undefined;
  /** Everything was sent or is not wanted. */
  readonly done?: (() => void) | undefined;
}

/** What a stream reports to its message. */
interface LeavingEvents {
  sent(bytes: number): void;
  failed(thrown: unknown): void;
  done(): void;
}

const none = new Uint8Array(0);

/** The bytes beside a message that was sent; each part waits until the peer requests it. */
export class LeavingBytes {
  readonly #attachments: Attachments;
  readonly #owner: LeavingOwner;
  readonly #opened = new Map<number, LeavingStream>();
  #left: number;
  #isOver = false;

  constructor(attachments: Attachments, parts: number, owner: LeavingOwner) {
    this.#attachments = attachments;
    this.#owner = owner;
    this.#left = parts;
  }

  /** Sends a part; undefined if it was asked for before. */
  open(part: number, credit: number, sink: ByteSink): LeavingStream | undefined {
    if (this.#isOver || this.#opened.has(part)) return undefined;
    const stream = new LeavingStream(() => this.#attachments.open(part), credit, sink, {
      sent: (bytes) => this.#owner.sent?.(bytes),
      failed: (thrown) => this.#owner.failed?.(thrown),
      done: () => {
        if (--this.#left === 0) this.end();
      },
    });
    this.#opened.set(part, stream);
    return stream;
  }

  /** Nothing more of it is sent. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const stream of this.#opened.values()) stream.stop();
    this.#attachments.discard();
    this.#owner.done?.();
  }
}

/** One part that is sent, as fast as the peer asks for it and the wire accepts it. */
export class LeavingStream {
  readonly #open: () => ReadableStream<Uint8Array>;
  readonly #sink: ByteSink;
  readonly #events: LeavingEvents;
  #credit: number;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(
    open: () => ReadableStream<Uint8Array>,
    credit: number,
    sink: ByteSink,
    events: LeavingEvents,
  ) {
    this.#open = open;
    this.#credit = credit;
    this.#sink = sink;
    this.#events = events;
    void this.#send();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  grant(credit: number): void {
    this.#credit += credit;
    this.#awake();
  }

  /** The peer wants no more of it. */
  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reader?.cancel().catch(() => {});
    this.#awake();
    this.#sink.over();
    this.#events.done();
  }

  async #send(): Promise<void> {
    try {
      this.#reader = this.#open().getReader();
      for (;;) {
        await this.#mayGoOn();
        if (this.#isOver) return;
        const { done, value } = await this.#reader.read();
        if (this.#isOver) return;
        if (done) break;
        if (!(value instanceof Uint8Array)) throw new TypeError("a stream must have bytes only");
        for (let at = 0; at < value.length && !this.#isOver; ) at = await this.#some(value, at);
      }
      this.#finish("last");
    } catch (thrown) {
      if (this.#isOver) return;
      this.#reader?.cancel().catch(() => {});
      this.#finish("failed");
      this.#events.failed(thrown);
    }
  }

  /** Sends some bytes when there is credit for them; returns the position after them. */
  async #some(value: Uint8Array, at: number): Promise<number> {
    await this.#mayGoOn();
    if (this.#isOver) return value.length;
    const end = Math.min(value.length, at + this.#credit, at + roomIn(this.#sink.frameBytes));
    this.#credit -= end - at;
    this.#sink.frame("more", value.subarray(at, end));
    this.#events.sent(end - at);
    return end;
  }

  async #mayGoOn(): Promise<void> {
    while (!this.#isOver) {
      const full = this.#sink.ready();
      if (full !== undefined) await full;
      else if (this.#credit > 0) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  #finish(kind: FrameKind): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.frame(kind, none);
    this.#sink.over();
    this.#events.done();
  }

  #awake(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
