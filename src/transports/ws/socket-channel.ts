import type { Channel, ChannelListener, CloseReason } from "../../connection/channel.ts";
import { type Clock, systemClock, type Timer } from "../../protocol/clock.ts";
import { WireError } from "../../protocol/errors.ts";
import type { Limits } from "../../protocol/limits.ts";
import { closes, closeTimeoutMs, lossOf, notText } from "./close-code.ts";

/** The common part of the WebSockets of browsers, Deno, Bun, Workers and crossws. */
export interface TextSocket {
  send(text: string): unknown;
  close(code?: number, reason?: string): unknown;
  terminate?(): unknown;
  readonly bufferedAmount?: number;
  /** Bun's variant. */
  getBufferedAmount?(): number;
  /** That of crossws, which has only this one. */
  readonly websocket?: { readonly bufferedAmount?: number | undefined } | undefined;
}

export interface SocketChannelOptions {
  readonly clock?: Clock | undefined;
  /** How long to wait for a peer that does not read. @default no limit */
  readonly writeTimeoutMs?: number;
  /** Sends a binary frame, on platforms that distinguish binary frames from text; without it none is sent or accepted. */
  readonly sendBytes?: (frame: Uint8Array) => unknown;
}

/** How often a socket without a drain event is polled. */
const pollMs = 20;

/** A channel on a WebSocket of the platform, whose events are passed in. */
export class SocketChannel implements Channel {
  readonly #socket: TextSocket;
  /** Above this many buffered bytes, senders wait for `drain`. */
  readonly #drainAbove: number;
  readonly #clock: Clock;
  readonly #writeTimeoutMs: number;
  readonly sendBytes: ((frame: Uint8Array) => void) | undefined;
  #listener: ChannelListener | undefined;
  #polling: Timer | undefined;
  /** Bytes buffered at the last poll, and for how long none has left. */
  #waiting = Number.POSITIVE_INFINITY;
  #stuckMs = 0;
  #cut: Timer | undefined;
  #closing = false;
  #ended = false;

  constructor(socket: TextSocket, limits: Limits, options: SocketChannelOptions = {}) {
    this.#socket = socket;
    this.#drainAbove = limits.maxBufferedBytes / 4;
    this.#clock = options.clock ?? systemClock;
    this.#writeTimeoutMs = options.writeTimeoutMs ?? Number.POSITIVE_INFINITY;
    const { sendBytes } = options;
    if (sendBytes !== undefined) this.sendBytes = (frame) => this.#send(() => sendBytes(frame));
  }

  get bufferedBytes(): number {
    const { bufferedAmount = this.#socket.websocket?.bufferedAmount } = this.#socket;
    return bufferedAmount ?? this.#socket.getBufferedAmount?.() ?? 0;
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
  }

  send(text: string): void {
    this.#send(() => this.#socket.send(text));
  }

  #send(send: () => unknown): void {
    if (this.#closing || this.#ended) return;
    try {
      send();
    } catch (error) {
      // Some throw if the peer has just closed, before they report it.
      this.#end(error as Error);
      return;
    }
    if (this.bufferedBytes >= this.#drainAbove) this.#poll();
  }

  close(reason: CloseReason = "done"): void {
    if (this.#closing || this.#ended) return;
    this.#closing = true;
    if (reason === "dead" || reason === "slow-reader") {
      this.#drop(reason);
      return;
    }
    this.#closeWith(reason);
    this.#cut = this.#clock.after(closeTimeoutMs, () => this.#giveUp());
  }

  /** A message arrived: a string, or bytes if binary frames are accepted. */
  receive(data: unknown): void {
    if (this.#closing || this.#ended) return;
    if (typeof data === "string") {
      this.#listener?.message(data);
      return;
    }
    const bytes = this.sendBytes === undefined ? undefined : bytesOf(data);
    if (bytes === undefined) this.#listener?.fault(notText);
    else this.#listener?.bytes?.(bytes);
  }

  drained(): void {
    this.#polling?.cancel();
    this.#polling = undefined;
    this.#waiting = Number.POSITIVE_INFINITY;
    this.#listener?.drain();
  }

  /** The socket is closed. */
  closed(code: number | undefined, reason: string): void {
    this.#end(this.#closing ? undefined : lossOf(code, reason));
  }

  failed(error: Error): void {
    this.#end(error);
  }

  #closeWith(reason: CloseReason): void {
    const { code, sentence } = closes[reason];
    try {
      this.#socket.close(code, sentence);
    } catch {
      // Browsers and Deno allow only the codes 1000 and 3000 to 4999.
      this.#socket.close(code + 3000, sentence);
    }
  }

  #giveUp(): void {
    this.#socket.terminate?.();
    this.#end();
  }

  #poll(): void {
    this.#polling ??= this.#clock.after(pollMs, () => {
      this.#polling = undefined;
      const waiting = this.bufferedBytes;
      this.#stuckMs = waiting < this.#waiting ? 0 : this.#stuckMs + pollMs;
      this.#waiting = waiting;
      if (waiting < this.#drainAbove) this.drained();
      else if (this.#stuckMs < this.#writeTimeoutMs) this.#poll();
      else this.#drop("slow-reader", new WireError("CONNECTION_LOST", "the peer does not read"));
    });
  }

  /** Closes without a handshake if the platform can, because the peer would not read it. */
  #drop(reason: CloseReason, error?: Error): void {
    if (this.#socket.terminate === undefined) this.#closeWith(reason);
    else this.#socket.terminate();
    this.#end(error);
  }

  #end(error?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#polling?.cancel();
    this.#cut?.cancel();
    this.#listener?.end(error);
  }
}

/** The bytes of a binary frame, whatever the platform presents them as; undefined if it is something else. */
export function bytesOf(data: unknown): Uint8Array | undefined {
  if (data instanceof Uint8Array) return data;
  return data instanceof ArrayBuffer ? new Uint8Array(data) : undefined;
}
