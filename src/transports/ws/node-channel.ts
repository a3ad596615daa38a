import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Channel, ChannelListener, CloseReason } from "../../connection/channel.ts";
import { Heartbeat, type HeartbeatOptions } from "../../connection/heartbeat.ts";
import { SendQueue } from "../../connection/send-queue.ts";
import { longestDelayMs } from "../../protocol/clock.ts";
import { WireError } from "../../protocol/errors.ts";
import type { WireBuffers } from "../../protocol/memory-bounds.ts";
import { countUnsent } from "../../streams/unsent-bytes.ts";
import { closes, lossOf, messageTooBig, notText, policyViolation, tooLong } from "./close-code.ts";
import type { ClosingSocket } from "./closing-socket.ts";
import { binaryFrame, deflatedFrames, IncomingFrames, textFrames } from "./frames.ts";
import { HeldMessages } from "./held-messages.ts";

/** The socket under a WebSocket of `ws`. */
type Socket = Duplex & { setTimeout?(ms: number): unknown };

export interface NodeChannelOptions {
  readonly side: "client" | "server";
  readonly heartbeat: HeartbeatOptions;
  /** Stops reading while more than this is unsent; for servers only. @default no limit */
  readonly holdAboveBytes?: number;
  /** How long to wait for a peer that does not read. @default no limit */
  readonly writeTimeoutMs?: number;
  /** Counts what the peer has not read when the socket closes. */
  readonly buffers?: WireBuffers;
}

const open = 1;
/** Most bytes of control frames between the fragments of one message; stops memory exhaustion. */
const maxControlBytes = 64 * 1024;

/**
 * A channel on a WebSocket of `ws`, which parses frames, handles control frames and closes with 1007 if text is not
 * UTF-8.
 */
export class NodeChannel implements Channel {
  /** Whose methods may forbid compression. */
  origin: { readonly mayCompress: boolean } | undefined = undefined;
  readonly #ws: ClosingSocket;
  readonly #socket: Socket;
  readonly #masked: boolean;
  readonly #queue: SendQueue;
  readonly #heartbeat: Heartbeat;
  readonly #frames = new IncomingFrames();
  readonly holds: boolean;
  readonly #holdAbove: number;
  readonly #writeTimeoutMs: number | undefined;
  readonly #buffers: WireBuffers | undefined;
  readonly #flushLater = (): void => this.#flush();
  readonly #written = (): void => this.#afterWrite();
  readonly #arrived = (chunk: Buffer): void => this.#follow(chunk);
  readonly #stalled = (): void => this.#cut("the peer does not read");
  #listener: ChannelListener | undefined;
  /** Whether the listener paused reading. */
  #paused = false;
  /** Whether reading is stopped. */
  #stopped = false;
  /** Messages that arrived in the chunk during which reading stopped. */
  readonly #held = new HeldMessages();
  /** The last ping that is unanswered. */
  #owedPong: Uint8Array | undefined;
  /** Payload of our last ping; a peer that does not read cannot know it. */
  #expectedPong: Buffer | undefined;
  #timed = false;
  #failure: Error | undefined;
  #closing = false;
  /** Whether the peer has closed, and earlier messages are still handled. */
  #concluding = false;
  #ended = false;

  constructor(ws: ClosingSocket, socket: Socket, options: NodeChannelOptions) {
    this.#holdAbove = options.holdAboveBytes ?? Number.POSITIVE_INFINITY;
    this.holds = options.holdAboveBytes !== undefined;
    // Node's own timeout knows whether any of the waiting bytes has left, and only sockets have it.
    this.#writeTimeoutMs = socket.setTimeout === undefined ? undefined : options.writeTimeoutMs;
    this.#buffers = options.buffers;
    this.#ws = ws;
    this.#socket = socket;
    const isMasked = options.side === "client";
    this.#masked = isMasked;
    const isDeflated = ws.extensions.includes("permessage-deflate");
    this.#queue = new SendQueue((texts) =>
      isDeflated && this.origin?.mayCompress === true
        ? deflatedFrames(texts, isMasked)
        : textFrames(texts, isMasked),
    );
    this.#heartbeat = new Heartbeat(
      options.heartbeat,
      () => this.#ping(),
      () => this.#giveUp(),
    );
  }

  get bufferedBytes(): number {
    return this.#queue.bytes + this.#socket.writableLength;
  }

  get arrivingBytes(): number {
    return this.#frames.messageBytes + this.#held.bytes;
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
    const ws = this.#ws;
    ws.on("message", (data: Buffer, isBinary) => this.#receive(data, isBinary));
    ws.on("pong", (data: Buffer) => this.#ponged(data));
    ws.on("ping", (data: Buffer) => this.#pong(data));
    ws.on("error", (error) => {
      this.#failure = error;
    });
    ws.on("close", (code, reason) => {
      if (!this.#concluding) this.#end(this.#lossOf(code, reason));
    });
    // After the listener of `ws`, so that its messages are handled before the bytes are counted.
    this.#socket.on("data", this.#arrived);
    this.#socket.on("timeout", this.#stalled);
    ws.beforeClose = (code, reason) => {
      const peerCloses = !this.#closing;
      // If the peer sent the close code itself, a reason comes with it, even if it is empty.
      if (peerCloses && code === messageTooBig && reason === undefined) listener.fault(tooLong);
      this.#flush(Number.POSITIVE_INFINITY);
      // Nothing more can be sent; an error that explains it comes within this turn.
      if (peerCloses) process.nextTick(() => this.#conclude(this.#lossOf(code, reason)));
    };
  }

  send(text: string): void {
    if (this.#closing || this.#ended) return;
    if (this.#queue.add(text)) this.#flushSoon();
  }

  sendBytes(frame: Uint8Array): void {
    if (this.#closing || this.#ended) return;
    if (this.#queue.addFrame(binaryFrame(frame, this.#masked))) this.#flushSoon();
  }

  #flushSoon(): void {
    // Runs when all messages of a chunk were read and the promises that they settled are done. A client also gathers
    // the calls of everything read in this turn, for example on the sockets of a gateway.
    if (this.#masked) setImmediate(this.#flushLater);
    else process.nextTick(this.#flushLater);
  }

  close(reason: CloseReason = "done"): void {
    if (this.#closing || this.#ended) return;
    this.#closing = true;
    // Such a peer would not read the closing handshake either.
    if (reason === "dead" || reason === "slow-reader") {
      this.#queue.clear();
      this.#held.clear();
      this.#ws.terminate();
      return;
    }
    // The peer's close frame has to be read.
    this.#pauseOrResume();
    const { code, sentence } = closes[reason];
    this.#ws.close(code, sentence);
    this.#countUnsent();
  }

  pause(): void {
    this.#paused = true;
    this.#pauseOrResume();
  }

  resume(): void {
    this.#paused = false;
    this.#takeHeld();
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (this.#closing || this.#ended) return;
    this.#heartbeat.received = true;
    const message = isBinary ? data : data.toString();
    if (this.#held.isEmpty && this.#hasRoom) this.#take(message);
    else {
      // A paused socket still delivers what it has read.
      this.#held.add(message);
      this.#pauseOrResume();
      this.#listener?.arriving?.(message.length);
    }
  }

  get #hasRoom(): boolean {
    return !this.#paused && this.bufferedBytes <= this.#holdAbove;
  }

  #take(message: string | Uint8Array): void {
    if (typeof message === "string") this.#listener?.message(message);
    else if (this.#listener?.bytes !== undefined) this.#listener.bytes(message);
    else this.#listener?.fault(notText);
  }

  /** Handles held messages while there is room for their replies. */
  #takeHeld(): void {
    // A destroyed socket calls back for everything that it drops, and held messages must not be handled then.
    if (this.#socket.destroyed || this.#concluding) return;
    while (!this.#held.isEmpty && !this.#closing && this.#hasRoom) {
      this.#take(this.#held.take());
    }
    this.#pauseOrResume();
  }

  /** Reads only while there is room for replies. */
  #pauseOrResume(): void {
    const stop = !this.#closing && (!this.#held.isEmpty || !this.#hasRoom);
    if (stop === this.#stopped || this.#ended) return;
    this.#stopped = stop;
    // While nothing is read, no pong can arrive; the write timeout decides.
    this.#heartbeat.received = true;
    if (stop) this.#ws.pause();
    else this.#ws.resume();
  }

  /** Hands the socket no more than the peer seems to read: what is queued here can be dropped at once. */
  #flush(most = this.#holdAbove): void {
    if (this.#queue.isEmpty) return;
    if (this.#ws.readyState !== open) {
      this.#queue.clear();
      return;
    }
    while (!this.#queue.isEmpty && this.#socket.writableLength <= most)
      this.#socket.write(this.#queue.take(most), this.#written);
    this.#expectProgress();
    this.#takeHeld();
  }

  #afterWrite(): void {
    if (this.#ended) return;
    if (this.#timed && this.#socket.writableLength === 0) {
      this.#timed = false;
      this.#socket.setTimeout?.(0);
    }
    this.#flush();
    if (this.#owedPong !== undefined) this.#pong(this.#owedPong);
    this.#listener?.drain();
    this.#takeHeld();
  }

  /** Starts once for everything that waits: later writes must not give a peer that does not read more time. */
  #expectProgress(): void {
    if (this.#timed || this.#writeTimeoutMs === undefined || this.#socket.writableLength === 0)
      return;
    this.#timed = true;
    this.#socket.setTimeout?.(Math.min(this.#writeTimeoutMs, longestDelayMs));
  }

  #follow(chunk: Buffer): void {
    this.#frames.push(chunk);
    if (this.#frames.controlBytes > maxControlBytes) {
      this.#reject("too many control frames within a message");
    } else if (this.#frames.messageOpen) this.#listener?.arriving?.(chunk.length);
  }

  /**
   * A peer that pings without reading gets one pong when it reads, as the protocol allows; otherwise pongs would fill
   * memory.
   */
  #pong(data: Uint8Array): void {
    const isFull = this.#socket.writableNeedDrain;
    // A copy, because a view would keep the whole chunk.
    this.#owedPong = isFull ? new Uint8Array(data) : undefined;
    if (isFull) return;
    this.#ws.pong(data, undefined, this.#written);
    this.#expectProgress();
  }

  #ping(): void {
    if (this.#stopped && (this.#paused || this.#writeTimeoutMs !== undefined)) {
      this.#heartbeat.received = true;
      return;
    }
    this.#expectedPong = randomBytes(8);
    this.#ws.ping(this.#expectedPong, undefined, this.#written);
    this.#expectProgress();
  }

  #ponged(data: Buffer): void {
    // Otherwise a message could stay incomplete forever.
    if (this.#frames.messageOpen || !this.#expectedPong?.equals(data)) return;
    this.#expectedPong = undefined;
    this.#heartbeat.received = true;
  }

  #giveUp(): void {
    if (this.#frames.messageOpen) this.#reject("a message took too long to arrive");
    else this.#cut("the peer did not answer a ping");
  }

  /** Closes with a reason, and stops reading, because the peer could continue until it answers the close. */
  #reject(sentence: string): void {
    if (this.#closing || this.#ended) {
      this.#ws.terminate();
      return;
    }
    this.#failure = new WireError("CONNECTION_LOST", sentence);
    this.#ws.close(policyViolation, sentence);
    this.#ws.pause();
    this.#end(this.#failure);
  }

  /** Closes without a handshake, which the peer would not answer. */
  #cut(sentence: string): void {
    this.#failure ??= new WireError("CONNECTION_LOST", sentence);
    this.#ws.terminate();
    this.#end(this.#closing ? undefined : this.#failure);
  }

  #lossOf(code: number | undefined, reason: string | Buffer | undefined): Error | undefined {
    if (this.#closing) return undefined;
    return this.#failure ?? lossOf(code, reason?.toString() ?? "");
  }

  /** Handles the messages before an orderly close, one per turn, because unread replies no longer limit them. */
  #conclude(error: Error | undefined): void {
    if (this.#held.isEmpty || this.#closing || this.#ended) {
      this.#end(error);
      return;
    }
    this.#concluding = true;
    this.#take(this.#held.take());
    setImmediate(() => this.#conclude(error));
  }

  #end(error: Error | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#heartbeat.stop();
    this.#socket.off("data", this.#arrived);
    this.#socket.off("timeout", this.#stalled);
    this.#held.clear();
    this.#listener?.end(error);
    if (!this.#closing) this.#countUnsent();
  }

  /** While it closes, no connection counts what waits in the socket. */
  #countUnsent(): void {
    if (this.#buffers !== undefined) countUnsent(this.#socket, this.#buffers);
  }
}
