import type { Answer } from "../protocol/answer.ts";
import { type AttachedReply, countedBytes } from "../protocol/attachments.ts";
import { type AnswerReceiver, later } from "../protocol/later-answer.ts";
import type { Linked } from "../protocol/linked-list.ts";
import { Origin, type Peer, unreachablePeer } from "../protocol/origin.ts";
import { abandonCalls, callsOf, endCalls, endSubscriptions } from "../protocol/origin-calls.ts";
import { warnRarely } from "../protocol/rare-warning.ts";
import type { Service } from "../protocol/service.ts";
import { connectionLost, cutShort } from "../protocol/standard-errors.ts";
import { type ArrivingParts, openParts } from "./arriving-parts.ts";
import type { HeaderRecord } from "./client-exchange.ts";
import {
  acceptedCoding,
  codedHeaders,
  compressedFromLength,
  type SentBody,
} from "./content-coding.ts";
import {
  type EventHost,
  type EventPeer,
  type EventSink,
  type EventSource,
  eventHeaders,
} from "./event-peer.ts";
import type { BodyFault, BodyReader, HttpMessage } from "./http-message.ts";
import { HttpTransport } from "./http-transport.ts";
import { acceptsParts } from "./media-type.ts";
import { multipartBody } from "./multipart-body.ts";
import { type Refusal, unsupportedEncoding } from "./refusal.ts";
import type { Recording } from "./replay.ts";
import type { UploadBody } from "./upload-body.ts";
import { bytesOverload } from "./waiting-bytes.ts";

/** What an exchange needs to know of the protocol above it: an endpoint of JSON-RPC, or one request of MCP. */
export interface ExchangeHost {
  readonly service: Pick<Service, "limits" | "log" | "running" | "watch">;
  /** The status of an answer without a reply. */
  readonly noReplyStatus: number;
  /** Whether long replies are compressed for clients that accept it. */
  readonly compresses: boolean;
  /** The reply to a call that could not be answered because of a mistake in this library or in middleware. */
  readonly internalError: string;
  /** The body of a request. */
  received(exchange: Exchange, text: string | undefined, sent: SentBody | undefined): void;
  /** The refusal of a request whose body cannot be read. */
  refusalOf(fault: BodyFault): Refusal;
  /** Headers of every response, whatever it says, such as those for CORS. */
  commonHeaders(exchange: Exchange): HeaderRecord | undefined;
  /** Called once before the reply is sent; gives its status. */
  conclude(origin: Origin): number;
  /** Headers of a reply, such as those that its error asks for. */
  replyHeaders(origin: Origin, status: number): HeaderRecord | undefined;
  /** The call continues after this turn of the event loop. */
  enter(exchange: Exchange): void;
  leave(exchange: Exchange): void;
  /** The client disconnected before the reply. */
  disconnected(exchange: Exchange): void;
}

/** One HTTP request from its headers to its reply, for JSON-RPC and MCP, on Node and on `fetch`. */
export class Exchange implements AnswerReceiver, EventHost, BodyReader, Linked<Exchange> {
  prev: Exchange | undefined = undefined;
  next: Exchange | undefined = undefined;
  readonly message: HttpMessage;
  /** Set if the body arrives while the call runs. */
  upload: UploadBody | undefined = undefined;
  /** Set when the call begins. */
  origin: Origin | undefined = undefined;
  readonly #host: ExchangeHost;
  #transport: HttpTransport | undefined = undefined;
  /** Called when the client disconnects before the reply. */
  #closed: (() => void) | undefined = undefined;
  /** Undefined if the client takes JSON only. */
  #events: EventPeer | undefined = undefined;
  /** Whether the client takes nothing but events. */
  #asEvents = false;
  /** What follows the message in a multipart body. */
  #parts: ArrivingParts | undefined = undefined;
  /** Bytes beside the reply. */
  #attached: AttachedReply | undefined = undefined;

  constructor(host: ExchangeHost, message: HttpMessage) {
    this.#host = host;
    this.message = message;
  }

  get isGone(): boolean {
    return this.message.isGone;
  }

  received(text: string | undefined, sent: SentBody | undefined): void {
    this.#host.received(this, text, sent);
  }

  /** Reads the message of a multipart body; its other parts are read by the calls. */
  async readParts(boundary: string): Promise<void> {
    const { limits, running } = this.#host.service;
    const { maxMessageBytes } = limits;
    const own = { maxMessageBytes, buffers: running.buffers };
    const opened = await openParts(this.message, boundary, own);
    if (typeof opened === "string") {
      this.failed(opened);
      return;
    }
    this.message.allowLateBody();
    const { parts } = opened;
    this.#parts = parts;
    this.message.onClose(() => parts.discard());
    this.#host.received(this, opened.text, undefined);
  }

  failed(fault: BodyFault): void {
    if (fault === "overload") {
      const { log, running } = this.#host.service;
      const sentence = "refused a request because all connections buffer too much";
      warnRarely(log, running.clock, {}, sentence);
    }
    if (fault === "consumed") {
      this.#host.service.log.error({}, "other code read the body of a request before this handler");
    }
    const isArriving = fault === "too-large" || fault === "overload" || fault === "malformed";
    const refusal =
      fault === "encoded" ? unsupportedEncoding(this.message.codings) : this.#host.refusalOf(fault);
    this.refuse(refusal, isArriving);
  }

  /** Begins a call of a client that takes JSON only; `body` is exactly what was sent, if that is known. */
  begin(body: SentBody | undefined, peer: Peer = unreachablePeer): Origin {
    this.#transport = new HttpTransport(this.message, body);
    this.origin = new Origin(this.#transport, peer, this.#host.service.limits);
    const parts = this.#parts;
    if (parts !== undefined) this.origin.attachments = () => parts;
    if (acceptsParts(this.message.head.accept)) {
      this.origin.attach = (reply) => this.#attach(reply);
    }
    return this.origin;
  }

  /** Begins a call that may have events before its reply, or, if `asEvents`, is answered by events only. */
  beginEvents(
    body: SentBody | undefined,
    events: EventPeer,
    asEvents: boolean,
    peer: Peer = events,
  ): Origin {
    this.#events = events;
    this.#asEvents = asEvents;
    return this.begin(body, peer);
  }

  /** Sends the reply, now or when there is one: when the promise resolves, or `answered` is called. */
  answer(answer: Answer, origin: Origin): void {
    if (!(answer instanceof Promise)) {
      this.#reply(answer, origin);
      return;
    }
    this.#wait();
    if (answer === later) return;
    answer.then(
      (text) => this.answered(text),
      (error: unknown) => {
        this.#host.service.log.error({ err: error }, "a call could not be answered");
        this.answered(this.#host.internalError);
      },
    );
  }

  /** The reply to a call that took longer. */
  answered(text: string | undefined): void {
    this.#host.leave(this);
    if (this.#closed !== undefined) this.message.offClose(this.#closed);
    this.#reply(text, this.origin as Origin);
  }

  /** `isArriving` says that the client still sends its body. */
  refuse({ status, body, headers }: Refusal, isArriving = false): void {
    if (status >= 400) this.#host.service.watch?.refused("http", status);
    this.send(status, body, headers, isArriving);
  }

  send(status: number, text: string, headers?: HeaderRecord, isArriving = false): void {
    const { message } = this;
    const all = this.#headers(status, text, headers);
    if (message.isAnswered) return;
    try {
      if (isArriving) message.sendEarly(status, text, all);
      else if (text.length >= compressedFromLength && this.#mayCompress) {
        const coding = acceptedCoding(message.head.get("accept-encoding"), message.codings);
        message.send(status, text, codedHeaders(all, coding), coding);
      } else message.send(status, text, all);
    } catch (error) {
      this.#host.service.log.error({ err: error }, "an error carries invalid headers");
      message.send(status, text, this.#headers(status, text, undefined));
    }
  }

  openEvents(): EventSink | undefined {
    return this.openSink((sink) => this.#events?.detach(sink), this.origin);
  }

  /** Sends the rest of a stream that another request began. */
  replay(recording: Recording, after: number): void {
    const sink = this.openSink((gone) => recording.peer?.detach(gone), recording);
    if (sink !== undefined) recording.replay(after, sink);
  }

  /** Ends what runs, since nothing will read the reply. */
  abandon(): void {
    if (this.origin !== undefined) {
      abandonCalls(this.#host.service.running, this.origin, connectionLost);
    }
  }

  endSubscriptions(): void {
    if (this.origin !== undefined) {
      endSubscriptions(callsOf(this.#host.service.running, this.origin));
    }
  }

  /** Ends what runs, and replies so. */
  cutShort(): void {
    if (this.origin !== undefined) endCalls(this.#host.service.running, this.origin, cutShort);
  }

  /** Ends what runs, since what it uploads takes too much memory, and replies so. */
  shed(): void {
    if (this.origin !== undefined) endCalls(this.#host.service.running, this.origin, bytesOverload);
  }

  /** Begins the response if the call has run for long, so that the client sees that the connection is alive. */
  showAlive(): void {
    this.#events?.open();
  }

  #wait(): void {
    const closed = (): void => {
      // A stream of events may be resumed, and its peer handles the end of the connection.
      if (this.#events?.started !== true) this.#host.disconnected(this);
    };
    this.#closed = closed;
    this.message.onClose(closed);
    this.#host.enter(this);
    if (this.#asEvents) this.#events?.open();
  }

  #reply(text: string | undefined, origin: Origin): void {
    const host = this.#host;
    const status = host.conclude(origin);
    this.upload?.stop();
    if (this.#events !== undefined) {
      const asEvents = this.#asEvents && status === 200 && text !== undefined;
      if (this.#events.settle(text, asEvents, origin.streams !== undefined)) return;
    }
    const isPlain = status === 200 && origin.replyHeaders === undefined;
    const headers = isPlain ? undefined : host.replyHeaders(origin, status);
    if (this.#parts !== undefined || this.#attached !== undefined) {
      this.#replyBesideParts(status, text, headers);
    } else if (text === undefined) this.send(host.noReplyStatus, "", headers);
    else if (this.upload?.isArriving) {
      this.send(status, text, { ...headers, connection: "close" }, true);
    } else this.send(status, text, headers);
  }

  /** Replies to a request with files, or with bytes beside the reply. */
  #replyBesideParts(
    status: number,
    text: string | undefined,
    headers: HeaderRecord | undefined,
  ): void {
    // Nothing reads what still arrives.
    const isArriving = this.#parts?.isArriving === true;
    this.#parts?.discard();
    if (this.#attached !== undefined && text !== undefined) {
      this.#sendParts(status, text, this.#attached, headers);
      return;
    }
    const sent = isArriving ? { ...headers, connection: "close" } : headers;
    const shown = text === undefined ? this.#host.noReplyStatus : status;
    this.send(shown, text ?? "", sent, isArriving);
  }

  #attach(reply: AttachedReply): boolean {
    // Events cannot carry bytes, and a signature covers a text.
    if (this.#asEvents || this.#events?.started === true || this.#isSigned) return false;
    this.#attached = reply;
    return true;
  }

  #sendParts(
    status: number,
    text: string,
    { attached, attachments }: AttachedReply,
    own: HeaderRecord | undefined,
  ): void {
    if (this.message.isAnswered) {
      attachments.discard();
      return;
    }
    const { contentType, length, stream } = multipartBody(text, attached, attachments);
    const headers = { ...this.#headers(status, text, own), "content-type": contentType };
    const sized = length === undefined ? headers : { ...headers, "content-length": `${length}` };
    this.message.sendStream(status, stream(), sized, countedBytes(attachments));
  }

  /** Begins a response of events; undefined if that is too late. */
  openSink(closed: (sink: EventSink) => void, source?: EventSource): EventSink | undefined {
    const { message } = this;
    if (message.isAnswered) return undefined;
    const common = this.#host.commonHeaders(this);
    const headers = common === undefined ? eventHeaders : { ...eventHeaders, ...common };
    const compresses = message.compressesEvents && source?.mayCompress && this.#mayCompress;
    if (!compresses) return message.openEvents(headers, closed);
    const coding = acceptedCoding(message.head.get("accept-encoding"), ["gzip"]);
    const sent = codedHeaders(headers, undefined);
    return message.openEvents(sent, closed, coding === undefined ? undefined : source);
  }

  /** A signed reply is not compressed, because its digest covers the text. */
  get #mayCompress(): boolean {
    return this.#host.compresses && this.origin?.mayCompress !== false && !this.#isSigned;
  }

  get #isSigned(): boolean {
    return this.#transport?.facts?.signReply !== undefined;
  }

  #headers(status: number, text: string, own: HeaderRecord | undefined): HeaderRecord | undefined {
    const signature = this.#transport?.facts?.signReply?.(status, text);
    const common = this.#host.commonHeaders(this);
    if (signature === undefined && common === undefined) return own;
    return { ...own, ...signature, ...common };
  }
}
