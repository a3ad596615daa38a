import type { Duplex } from "node:stream";
import type { PeerCertificate, Transport } from "../../protocol/origin.ts";
import { peerCertificate } from "../../streams/peer-certificate.ts";
import type { HeaderRecord } from "../client-exchange.ts";
import type { Coding } from "../content-coding.ts";
import type { EventSink, EventSource } from "../event-peer.ts";
import type { BodyFault, BodyReader, HttpMessage } from "../http-message.ts";
import { nodeCodings } from "../node-codings.ts";
import { largeReplyLength } from "../unread-reply.ts";
import type { UploadBody } from "../upload-body.ts";
import type { FastHead } from "./head.ts";
import { type TurnHost, TurnSink } from "./turn-sink.ts";

/** The connection of a request on the fast path. */
export interface FastWire {
  readonly socket: Duplex;
  /** Takes the reply to the request that runs; false if Node has to do it. */
  reply(status: number, text: string, headers: HeaderRecord | undefined): boolean;
  /** Gives the connection to Node, with the request that runs. */
  leave(): void;
}

/** A request that arrived completely on the fast path. If the reply needs more than one write, Node's own message takes its place. */
export class FastMessage implements HttpMessage, TurnHost {
  readonly head: FastHead;
  readonly url: string;
  readonly target: string;
  readonly codings = nodeCodings;
  readonly compressesEvents = true;
  readonly #wire: FastWire;
  readonly #body: string | undefined;
  #isReplied = false;
  #node: HttpMessage | undefined = undefined;
  #closed: (() => void) | undefined = undefined;
  #events: TurnSink | undefined = undefined;

  /** The body is undefined if it is not UTF-8. */
  constructor(wire: FastWire, head: FastHead, body: string | undefined) {
    this.#wire = wire;
    this.head = head;
    this.url = head.target;
    this.target = head.target;
    this.#body = body;
  }

  /** Continues with Node's message of the same request. */
  adopt(node: HttpMessage): void {
    this.#node = node;
    if (this.#closed !== undefined) node.onClose(this.#closed);
    this.#events?.continueOn(node);
  }

  /** The connection has closed. */
  close(): void {
    this.#closed?.();
    this.#events?.lost();
  }

  get headers(): Transport["headers"] {
    return this.head.headers;
  }

  get connection(): object {
    return this.#wire.socket;
  }

  get remoteAddress(): string | undefined {
    return (this.#wire.socket as { remoteAddress?: string }).remoteAddress;
  }

  get certificate(): PeerCertificate | undefined {
    return peerCertificate(this.#wire.socket);
  }

  get isAnswered(): boolean {
    return this.#isReplied || this.#events !== undefined || this.#node?.isAnswered === true;
  }

  get isGone(): boolean {
    const { socket } = this.#wire;
    return this.#node?.isGone ?? (socket.destroyed || socket.writableEnded);
  }

  read(reader: BodyReader): void {
    reader.received(this.#body, this.#body);
  }

  readLines(body: UploadBody): void {
    if (this.#body === undefined) body.fail("unreadable");
    else {
      void body.push(Buffer.from(this.#body));
      body.end();
    }
  }

  /** Never called, because requests whose bodies are opened are left to Node. */
  openBody(): BodyFault {
    return "consumed";
  }

  /** The whole body has arrived. */
  allowLateBody(): void {}

  inTurn(run: () => void): void {
    run();
  }

  send(status: number, text: string, headers: HeaderRecord | undefined, coding?: Coding): void {
    const isPlain = text.length <= largeReplyLength && coding === undefined;
    if (this.#node === undefined && isPlain && this.#wire.reply(status, text, headers)) {
      this.#isReplied = true;
    } else this.#onNode()?.send(status, text, headers, coding);
  }

  sendStream(...args: Parameters<HttpMessage["sendStream"]>): void {
    const node = this.#onNode();
    if (node === undefined) args[1].cancel().catch(() => {});
    else node.sendStream(...args);
  }

  sendEarly(status: number, text: string, headers: HeaderRecord | undefined): void {
    this.send(status, text, headers);
  }

  openEvents(
    headers: HeaderRecord,
    closed: (sink: EventSink) => void,
    source?: EventSource,
  ): EventSink | undefined {
    if (this.#node !== undefined) return this.#node.openEvents(headers, closed, source);
    if (this.isGone) return undefined;
    this.#events = new TurnSink(this, headers, closed, source);
    return this.#events;
  }

  replyEvents(text: string, headers: HeaderRecord): boolean {
    return this.#wire.reply(200, text, headers);
  }

  toNode(): void {
    this.#onNode();
  }

  destroy(): void {
    this.#wire.socket.destroy();
  }

  onClose(run: () => void): void {
    if (this.#node !== undefined) this.#node.onClose(run);
    else if (this.#wire.socket.closed) queueMicrotask(run);
    else this.#closed = run;
  }

  offClose(run: () => void): void {
    this.#closed = undefined;
    this.#node?.offClose(run);
  }

  /** Node's message of this request; undefined if the client has disconnected. */
  #onNode(): HttpMessage | undefined {
    if (this.#node === undefined && !this.isGone) this.#wire.leave();
    return this.#node;
  }
}
