import type { Socket } from "node:net";
import type { Dispatcher } from "undici";
import { type PlainReplyHead, parseReplyHead } from "../../http/fast-path/reply-head.ts";
import type { Linked } from "../../protocol/linked-list.ts";

type Controller = Dispatcher.DispatchController;

/** What receives a reply, whether undici reads it or not. */
export type ReplyHandler = Required<
  Pick<
    Dispatcher.DispatchHandler,
    "onRequestStart" | "onResponseStart" | "onResponseData" | "onResponseEnd" | "onResponseError"
  >
>;

/** How long a reply may stop in the middle, as for undici. */
const bodyTimeoutMs = 300_000;

/** A request that was or will be sent, and the controller of its reply. */
export class PlainCall implements Linked<PlainCall> {
  prev: PlainCall | undefined = undefined;
  next: PlainCall | undefined = undefined;
  readonly handler: ReplyHandler;
  /** The head of the request up to the digits of Content-Length. */
  readonly head: string;
  readonly body: string;
  readonly options: Dispatcher.DispatchOptions;
  connection: PlainConnection | undefined = undefined;
  reason: Error | undefined = undefined;

  constructor(
    handler: ReplyHandler,
    head: string,
    body: string,
    options: Dispatcher.DispatchOptions,
  ) {
    this.handler = handler;
    this.head = head;
    this.body = body;
    this.options = options;
  }

  abort(reason: Error): void {
    this.reason ??= reason;
    this.connection?.abort(this, reason);
  }

  start(): void {
    this.handler.onRequestStart(this.controller, undefined);
  }

  fail(error: Error): void {
    this.handler.onResponseError(this.controller, error);
  }

  /** Plain replies are short, so that nothing pauses them. */
  get controller(): Controller {
    return this as unknown as Controller;
  }
}

/** What the connections of one server share. */
export interface ConnectionOwner {
  /** The head of the last reply. */
  known: PlainReplyHead | undefined;
  /** The connection can send the next request, for this long. */
  freed(connection: PlainConnection, idleMs: number): void;
  /** undici has to read this reply; the bytes are the part that has arrived. */
  handOver(call: PlainCall, socket: Socket, bytes: Buffer): void;
  /** An idle connection can no longer be used. */
  closed(connection: PlainConnection): void;
}

/** Sends one request after the other, and reads their replies if they are plain. */
export class PlainConnection {
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  #call: PlainCall | undefined = undefined;
  #head: PlainReplyHead | undefined = undefined;
  /** How much of the body has not arrived. */
  #left = 0;
  #isTimed = false;
  #isReferenced = true;
  /** Until when it may be used again. */
  idleUntil = 0;
  readonly #onData = (chunk: Buffer): void => this.#received(chunk);
  readonly #onError = (error: Error): void => this.#broken(error);
  readonly #onTimeout = (): void => this.#broken(new Error("the reply stopped arriving"));
  readonly #onClose = (): void => this.#broken(new Error("the server closed the connection"));

  constructor(socket: Socket, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
    socket.on("data", this.#onData);
    socket.on("end", this.#onClose);
    socket.on("error", this.#onError);
    socket.on("timeout", this.#onTimeout);
    socket.on("close", this.#onClose);
  }

  /** False if the call was cancelled before. */
  send(call: PlainCall): boolean {
    call.start();
    if (call.reason !== undefined) {
      call.fail(call.reason);
      return false;
    }
    call.connection = this;
    this.#call = call;
    if (!this.#isReferenced) {
      this.#isReferenced = true;
      this.#socket.ref();
    }
    const { head, body } = call;
    const bytes = Buffer.byteLength(body);
    // Writing latin1 is faster, and the same for ASCII.
    const encoding = bytes === body.length ? "latin1" : "utf8";
    this.#socket.write(`${head}${bytes}\r\n\r\n${body}`, encoding);
    return true;
  }

  /** An idle connection does not keep the process alive. False if this was called before. */
  unref(): boolean {
    if (!this.#isReferenced) return false;
    this.#isReferenced = false;
    this.#socket.unref();
    return true;
  }

  abort(call: PlainCall, reason: Error): void {
    if (this.#call === call) this.#broken(reason);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #received(chunk: Buffer): void {
    const call = this.#call;
    if (call === undefined) {
      this.#broken(new Error("a reply without a request"));
      return;
    }
    try {
      if (this.#head !== undefined) this.#body(call, this.#head, chunk, 0);
      else this.#start(call, chunk);
    } catch (error) {
      this.#broken(error as Error);
    }
  }

  #start(call: PlainCall, bytes: Buffer): void {
    const { known } = this.#owner;
    const length = known?.template?.lengthIn(bytes, 0);
    const head = length === undefined ? parseReplyHead(bytes) : known;
    if (head === undefined) {
      this.#leave(call);
      this.#owner.handOver(call, this.#socket, bytes);
      return;
    }
    this.#owner.known = head;
    const digits = length ?? head.contentLength;
    this.#head = head;
    this.#left = Number(digits);
    call.handler.onResponseStart(call.controller, head.status, head.headers, "");
    this.#body(call, head, bytes, head.template?.sizeWith(digits) ?? head.size);
  }

  #body(call: PlainCall, head: PlainReplyHead, bytes: Buffer, at: number): void {
    const end = at + this.#left;
    const isWhole = bytes.length >= end;
    const part = bytes.subarray(at, isWhole ? end : bytes.length);
    this.#left -= part.length;
    if (part.length > 0) call.handler.onResponseData(call.controller, part);
    if (!isWhole) {
      this.#isTimed = true;
      this.#socket.setTimeout(bodyTimeoutMs);
      return;
    }
    this.#call = undefined;
    this.#head = undefined;
    call.connection = undefined;
    if (this.#isTimed) {
      this.#isTimed = false;
      this.#socket.setTimeout(0);
    }
    // More bytes than announced, or a request that the server did not read completely.
    const isUnclean = bytes.length > end || this.#socket.writableLength > 0;
    if (isUnclean || head.idleMs === 0) this.#socket.destroy();
    try {
      call.handler.onResponseEnd(call.controller, {});
    } catch (error) {
      call.fail(error as Error);
    }
    if (!this.#socket.destroyed) this.#owner.freed(this, head.idleMs);
  }

  #leave(call: PlainCall): void {
    const socket = this.#socket;
    call.connection = undefined;
    this.#call = undefined;
    socket.off("data", this.#onData);
    socket.off("end", this.#onClose);
    socket.off("error", this.#onError);
    socket.off("timeout", this.#onTimeout);
    socket.off("close", this.#onClose);
  }

  #broken(error: Error): void {
    const call = this.#call;
    this.#call = undefined;
    this.#socket.destroy();
    // At once, so that no call is sent over it before it is closed.
    if (call === undefined) this.#owner.closed(this);
    else {
      call.connection = undefined;
      call.fail(error);
    }
  }
}
