import type { HeaderRecord } from "../client-exchange.ts";
import { compressedFromLength } from "../content-coding.ts";
import type { EventSink, EventSource } from "../event-peer.ts";
import type { HttpMessage } from "../http-message.ts";
import { largeReplyLength } from "../unread-reply.ts";

/** The request that is answered by events. */
export interface TurnHost {
  /** Takes all events as one reply; false if Node has to send them. */
  replyEvents(text: string, headers: HeaderRecord): boolean;
  /** Has Node answer the request, which calls `continueOn`, unless the client is gone. */
  toNode(): void;
  destroy(): void;
}

/**
 * Collects events until the end of the turn in which the first one is sent. If the response is complete by then, it is one
 * reply, as short streams are; otherwise Node sends these events and all that follow.
 */
export class TurnSink implements EventSink {
  readonly #host: TurnHost;
  readonly #headers: HeaderRecord;
  readonly #closed: (sink: EventSink) => void;
  readonly #source: EventSource | undefined;
  #text = "";
  #isOver = false;
  #node: EventSink | undefined = undefined;

  constructor(
    host: TurnHost,
    headers: HeaderRecord,
    closed: (sink: EventSink) => void,
    source: EventSource | undefined,
  ) {
    this.#host = host;
    this.#headers = headers;
    this.#closed = closed;
    this.#source = source;
    setImmediate(() => this.#leave());
  }

  get full(): boolean {
    return this.#node?.full === true;
  }

  get bufferedBytes(): number {
    return this.#node?.bufferedBytes ?? this.#text.length;
  }

  write(text: string): void {
    if (this.#node !== undefined) this.#node.write(text);
    else if (!this.#isOver) {
      this.#text += text;
      if (this.#text.length > largeReplyLength) this.#leave();
    }
  }

  /** The headers are sent at the end of the turn. */
  flush(): void {
    this.#node?.flush();
  }

  ready(): Promise<void> | undefined {
    return this.#node?.ready();
  }

  end(): void {
    if (this.#node === undefined && !this.#isOver) {
      this.#isOver = this.#isShort && this.#host.replyEvents(this.#text, this.#headers);
      this.#leave();
    }
    this.#node?.end();
  }

  cut(): void {
    if (this.#node !== undefined) this.#node.cut();
    else this.#host.destroy();
  }

  /** Whether all events are one reply that need not be compressed. */
  get #isShort(): boolean {
    const { length } = this.#text;
    return length > 0 && (this.#source === undefined || length < compressedFromLength);
  }

  /** Node's message of the request takes its place. */
  continueOn(node: HttpMessage): void {
    if (this.#isOver) return;
    this.#node = node.openEvents(this.#headers, () => this.#closed(this), this.#source);
    if (this.#text === "") this.#node?.flush();
    else this.#node?.write(this.#text);
    this.#text = "";
  }

  /** The connection has closed, before Node took its place. */
  lost(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#closed(this);
  }

  #leave(): void {
    if (this.#node === undefined && !this.#isOver) this.#host.toNode();
  }
}
