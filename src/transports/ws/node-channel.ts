import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Channel, ChannelListener, CloseReason } from "../../connection/channel.ts";
import { Heartbeat, type HeartbeatOptions } from "../../connection/heartbeat.ts";
import { WireError } from "../../protocol/errors.ts";
import { closes, lossOf, messageTooBig, notText, tooLong } from "./close-code.ts";
import { textFrames } from "./text-frames.ts";

/** What `ws` runs on. */
type Socket = Duplex & { readonly bytesRead?: number };

const open = 1;

/**
 * A channel on a WebSocket of `ws`, which does the reading, the control frames and the closing.
 * Text that is not UTF-8 it closes with 1007.
 */
export class NodeChannel implements Channel {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #masked: boolean;
  readonly #heartbeat: Heartbeat;
  readonly #flushLater = (): void => this.#flush();
  readonly #written = (): void => {
    this.#listener?.drain();
    this.#takeHeld();
  };
  readonly #drain = (): void => {
    if (this.#holding) {
      this.#holding = false;
      this.#steer();
    }
    if (this.#owedPong !== undefined) this.#pong(this.#owedPong);
    this.#listener?.drain();
    this.#takeHeld();
  };
  #listener: ChannelListener | undefined;
  #queue: string[] = [];
  #queued = 0;
  readonly #holdAbove: number;
  #holding = false;
  /** Whether the listener asked to stop reading. */
  #paused = false;
  /** What came in one chunk with calls whose replies wait already; undefined stands for what is no text. */
  readonly #held: (string | undefined)[] = [];
  /** The last ping that waits for its answer. */
  #owedPong: Buffer | undefined;
  #readAtPing = 0;
  #waitingAtPing = Number.POSITIVE_INFINITY;
  #failure: Error | undefined;
  #closing = false;
  /** Whether the peer has closed, and what came before that is still handled. */
  #concluding = false;
  #ended = false;

  constructor(
    ws: WebSocket,
    socket: Socket,
    side: "client" | "server",
    heartbeat: HeartbeatOptions,
    /** Above so many bytes that wait, no more messages are taken in; for the end that serves. */
    holdAboveBytes: number = Number.POSITIVE_INFINITY,
  ) {
    this.#holdAbove = holdAboveBytes;
    this.#ws = ws;
    this.#socket = socket;
    this.#masked = side === "client";
    this.#heartbeat = new Heartbeat(
      heartbeat,
      () => this.#ping(),
      () => this.#giveUp(),
    );
  }

  get bufferedBytes(): number {
    return this.#queued + this.#socket.writableLength;
  }

  get holds(): boolean {
    return this.#holdAbove !== Number.POSITIVE_INFINITY;
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
    const ws = this.#ws;
    ws.on("message", (data: Buffer, isBinary) => this.#receive(data, isBinary));
    ws.on("pong", () => this.#heartbeat.heard());
    ws.on("ping", (data: Buffer) => this.#pong(data));
    ws.on("error", (error) => {
      this.#failure = error;
    });
    ws.on("close", (code, reason) => {
      if (!this.#concluding) this.#end(this.#lossOf(code, reason));
    });
    this.#socket.on("drain", this.#drain);
    const close = ws.close.bind(ws);
    // `ws` closes by itself, too, when the other end closes or breaks the protocol.
    ws.close = (code, reason) => {
      const answers = !this.#closing;
      // The other end's own words come with a reason, even if it is empty.
      if (answers && code === messageTooBig && reason === undefined) listener.fault(tooLong);
      this.#flush();
      close(code, reason);
      // Nothing more can be sent; an error that explains it comes within this turn.
      if (answers) process.nextTick(() => this.#conclude(this.#lossOf(code, reason)));
    };
  }

  send(text: string): void {
    if (this.#closing || this.#ended) return;
    this.#queued += text.length;
    if (this.#queue.push(text) > 1) return;
    // Runs when all messages of one chunk have been read and all promises they settled are done.
    // A client gathers the calls of all that was read in this turn, such as on the sockets of a gateway.
    if (this.#masked) setImmediate(this.#flushLater);
    else process.nextTick(this.#flushLater);
  }

  close(reason: CloseReason = "done"): void {
    if (this.#closing || this.#ended) return;
    this.#closing = true;
    if (reason === "dead") {
      this.#ws.terminate();
      return;
    }
    const { code, sentence } = closes[reason];
    this.#ws.close(code, sentence);
  }

  pause(): void {
    this.#paused = true;
    this.#steer();
  }

  resume(): void {
    this.#paused = false;
    this.#takeHeld();
    this.#steer();
  }

  #steer(): void {
    if (this.#holding || this.#paused) this.#ws.pause();
    else this.#ws.resume();
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (this.#closing) return;
    this.#heartbeat.heard();
    const text = isBinary ? undefined : data.toString();
    // A socket that is paused still tells of all that it has read.
    if (this.#held.length > 0 || !this.#hasRoom) this.#held.push(text);
    else this.#take(text);
  }

  get #hasRoom(): boolean {
    return !this.#paused && this.bufferedBytes <= this.#holdAbove;
  }

  #take(text: string | undefined): void {
    if (text === undefined) this.#listener?.fault(notText);
    else this.#listener?.message(text);
  }

  /** As much as there is room for what it comes to. */
  #takeHeld(): void {
    // A destroyed socket calls back for all that it drops, and nothing may come of what was held back until then.
    if (this.#socket.destroyed || this.#concluding) return;
    while (this.#held.length > 0 && !this.#closing && this.#hasRoom) {
      this.#take(this.#held.shift());
    }
  }

  #flush(): void {
    if (this.#queue.length === 0) return;
    const texts = this.#queue;
    this.#queue = [];
    this.#queued = 0;
    if (this.#ws.readyState !== open) return;
    // The event "drain" comes only after more than Node's own mark has waited, which may be above ours.
    const hasRoom = this.#socket.write(textFrames(texts, this.#masked), this.#written);
    if (!hasRoom && this.#socket.writableLength > this.#holdAbove && !this.#holding) {
      this.#holding = true;
      this.#waitingAtPing = Number.POSITIVE_INFINITY;
      this.#steer();
    }
    this.#takeHeld();
  }

  /** Who asks without reading gets one answer when it reads, as the protocol allows; else they would fill memory. */
  #pong(data: Buffer): void {
    const isFull = this.#socket.writableNeedDrain;
    this.#owedPong = isFull ? data : undefined;
    if (!isFull) this.#ws.pong(data);
  }

  #ping(): void {
    // Its pongs are not read meanwhile, and that is not its fault.
    if (this.#paused) {
      this.#heartbeat.heard();
      return;
    }
    if (this.#holding) {
      // A peer that reads what waits is alive, though its pongs are not read meanwhile.
      const waiting = this.#socket.writableLength;
      if (waiting < this.#waitingAtPing) this.#heartbeat.heard();
      this.#waitingAtPing = waiting;
      return;
    }
    this.#readAtPing = this.#socket.bytesRead ?? 0;
    this.#ws.ping();
  }

  #giveUp(): void {
    if (this.#holding) {
      this.#failure = new WireError("CONNECTION_LOST", "the other end does not read");
      this.#ws.close(closes["slow-reader"].code, closes["slow-reader"].sentence);
    } else if ((this.#socket.bytesRead ?? 0) > this.#readAtPing) {
      this.#failure = new WireError("CONNECTION_LOST", "a message took the other end too long");
      this.#ws.close(1008, "the message took too long");
    } else {
      this.#failure = new WireError("CONNECTION_LOST", "the other end gave no sign of life");
      this.#ws.terminate();
    }
    this.#end(this.#failure);
  }

  #lossOf(code: number | undefined, reason: string | Buffer | undefined): Error | undefined {
    if (this.#closing) return undefined;
    return this.#failure ?? lossOf(code, reason?.toString() ?? "");
  }

  /** Takes what came before an orderly end: one message a turn, since no unread replies hold them back any more. */
  #conclude(error: Error | undefined): void {
    if (this.#held.length === 0 || this.#closing || this.#ended) {
      this.#end(error);
      return;
    }
    this.#concluding = true;
    this.#take(this.#held.shift());
    setImmediate(() => this.#conclude(error));
  }

  #end(error: Error | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#heartbeat.stop();
    this.#socket.off("drain", this.#drain);
    this.#held.length = 0;
    this.#listener?.end(error);
  }
}
