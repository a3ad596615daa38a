import type {
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeaders,
  ServerResponse,
} from "node:http";
import { decodeUtf8 } from "../framing/utf8.ts";
import type { PeerCertificate } from "../protocol/origin.ts";
import { peerCertificate } from "../streams/peer-certificate.ts";
import { BodyBytes } from "./body-bytes.ts";
import type { HeaderRecord } from "./client-exchange.ts";
import { type Coding, codingOf, type SentBody } from "./content-coding.ts";
import { GzipEventSink } from "./event-gzip.ts";
import type { EventSink, EventSource } from "./event-peer.ts";
import type { BodyFault, BodyReader, HttpMessage, MessageLimits } from "./http-message.ts";
import type { ByteSource } from "./multipart-reader.ts";
import { NodeByteSource, writeStream } from "./node-bytes.ts";
import { compressLater, compressNow, inflateLater, nodeCodings } from "./node-codings.ts";
import { NodeEventSink, whenClosed } from "./node-event-sink.ts";
import { NodeHead } from "./node-head.ts";
import { countRequest, inTurn } from "./pipeline.ts";
import {
  countable,
  countHeld,
  countUnread,
  hasRoomFor,
  largeReplyLength,
  UncompressedReply,
} from "./unread-reply.ts";
import type { UploadBody } from "./upload-body.ts";
import { markUpload } from "./upload-sockets.ts";

/** How long a refused client may continue to send its body and take to read the refusal. */
const lingerMs = 2_000;

/** A request that a body parser may have read before. */
type ParsedRequest = IncomingMessage & { body?: unknown; _body?: boolean };

/** One request of `node:http`, or of a framework on it, and its response. */
export class NodeMessage implements HttpMessage {
  readonly head: NodeHead;
  readonly codings = nodeCodings;
  readonly compressesEvents = true;
  /** Kept, since frameworks change it on the way. */
  readonly url: string;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #limits: MessageLimits;
  /** Whether the client sends the body only after "100 Continue". */
  readonly #awaitsContinue: boolean;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    limits: MessageLimits,
    awaitsContinue = false,
  ) {
    this.head = new NodeHead(request);
    this.url = request.url ?? "";
    this.#request = request;
    this.#response = response;
    this.#limits = limits;
    this.#awaitsContinue = awaitsContinue;
    countRequest(request, response, limits.buffers);
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers;
  }

  get target(): string {
    // Frameworks remove from `url` the path that they were mounted at.
    return (this.#request as { originalUrl?: string }).originalUrl ?? this.url;
  }

  get connection(): object {
    return this.#request.socket;
  }

  get remoteAddress(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  get certificate(): PeerCertificate | undefined {
    return peerCertificate(this.#request.socket);
  }

  get isAnswered(): boolean {
    return this.#response.headersSent;
  }

  get isGone(): boolean {
    return this.#response.destroyed || this.#request.socket?.writableEnded === true;
  }

  read(reader: BodyReader): void {
    const request = this.#request as ParsedRequest;
    const coding = codingOf(this.head.contentEncoding);
    if (coding !== undefined && !this.codings.includes(coding as Coding)) {
      this.inTurn(() => reader.failed("encoded"));
      return;
    }
    if (this.#awaitsContinue) this.#response.writeContinue();
    if (request._body === true || request.readableEnded) {
      const { body } = request;
      if (body === undefined && hasBody(request.headers)) {
        reader.failed("consumed");
        return;
      }
      const text = parsedText(body);
      const isExact = body instanceof Uint8Array || typeof body === "string";
      // Body parsers inflate.
      this.#hand(reader, text, isExact && coding === undefined ? text : undefined);
      return;
    }
    const body = new BodyBytes(this.#limits, (fault) => {
      request.off("data", collect);
      request.off("end", finish);
      reader.failed(fault);
    });
    const collect = (chunk: Buffer): void => {
      if (!body.add(chunk, request.complete)) return;
      request.once("close", () => {
        if (!request.complete) body.discard();
      });
    };
    const finish = (): void => {
      if (coding !== undefined) {
        const sent = body.takeBytes();
        // In turn, or a connection could have any number of bodies wait for a thread.
        this.inTurn(() => inflateLater(sent, coding as Coding, this.#limits, reader), sent.length);
        return;
      }
      const text = body.takeText();
      this.#hand(reader, text, text);
    };
    request.on("data", collect);
    request.on("end", finish);
  }

  readLines(body: UploadBody): void {
    const request = this.#request as ParsedRequest;
    if (request._body === true || request.readableEnded) {
      body.fail("consumed");
      return;
    }
    if (this.#awaitsContinue) this.#response.writeContinue();
    void feed(request, body);
    this.#response.once("close", () => body.stop());
    this.#response.once("finish", () => this.#linger());
  }

  /** Drops the rest of a body that nothing reads, for a while: closing at once could discard the response. */
  #linger(): void {
    const { socket, complete } = this.#request;
    if (complete) return;
    const late = this.#limits.clock.after(lingerMs, () => socket.destroy());
    this.#request.once("end", () => late.cancel());
    socket.once("close", () => late.cancel());
    this.#request.resume();
  }

  openBody(): ByteSource | BodyFault {
    const request = this.#request as ParsedRequest;
    if (codingOf(this.head.contentEncoding) !== undefined) return "encoded";
    if (request._body === true || request.readableEnded) return "consumed";
    if (this.#awaitsContinue) this.#response.writeContinue();
    return new NodeByteSource(request);
  }

  allowLateBody(): void {
    markUpload(this.#request);
  }

  #hand(reader: BodyReader, text: string | undefined, sent: SentBody | undefined): void {
    this.inTurn(() => reader.received(text, sent), text?.length);
  }

  inTurn(run: () => void, length?: number): void {
    inTurn(this.#request, this.#response, this.#limits.buffers, run, length);
  }

  send(status: number, text: string, headers: HeaderRecord | undefined, coding?: Coding): void {
    const response = this.#response;
    if (!hasRoomFor(text.length, response, this.#limits.buffers)) return;
    if (coding !== undefined && text.length > largeReplyLength) {
      this.#sendLater(status, text, headers, coding);
      return;
    }
    const body = coding === undefined ? countable(text) : compressNow(text, coding);
    response.writeHead(status, nodeHeaders(status, body, headers));
    response.end(body);
    countUnread(response, text.length, this.#limits);
  }

  /** Compresses a large reply in another thread, because it would take milliseconds; its length is not known before. */
  #sendLater(
    status: number,
    text: string,
    headers: HeaderRecord | undefined,
    coding: Coding,
  ): void {
    const response = this.#response;
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    const reply = new UncompressedReply(text, response, this.#limits.buffers);
    compressLater(
      () => reply.take(),
      coding,
      (error, bytes) => {
        if (response.destroyed) return;
        if (error !== null) {
          response.destroy(error);
          return;
        }
        response.end(bytes);
        countUnread(response, bytes.length, this.#limits);
      },
    );
  }

  sendStream(
    status: number,
    bytes: ReadableStream<Uint8Array>,
    headers: HeaderRecord,
    held: number,
  ): void {
    this.#response.writeHead(status, headers);
    countHeld(this.#response, held, this.#limits.buffers);
    void writeStream(this.#response, bytes, this.#limits.writeTimeoutMs);
  }

  /** More than a message may hold is not read: closing while it arrives could discard the unread response. */
  sendEarly(status: number, text: string, headers: HeaderRecord | undefined): void {
    const request = this.#request;
    const response = this.#response;
    let left = this.#limits.maxMessageBytes;
    response.writeHead(status, nodeHeaders(status, text, headers));
    response.write(text);
    const close = (): void => {
      late.cancel();
      if (!response.writableEnded) response.end();
    };
    const late = this.#limits.clock.after(lingerMs, close);
    request.on("data", (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) request.pause();
    });
    request.on("end", close);
    response.on("close", close);
    if (request.readableEnded) close();
  }

  openEvents(
    headers: HeaderRecord,
    closed: (sink: EventSink) => void,
    source?: EventSource,
  ): EventSink {
    const plain = new NodeEventSink(this.#response, this.#limits);
    const sink = source === undefined ? plain : new GzipEventSink(plain, source);
    this.#response.writeHead(
      200,
      source === undefined ? headers : { ...headers, "content-encoding": "gzip" },
    );
    whenClosed(this.#response, () => closed(sink));
    return sink;
  }

  onClose(run: () => void): void {
    whenClosed(this.#response, run);
  }

  offClose(run: () => void): void {
    this.#response.off("close", run);
  }
}

/**
 * Reads a body as far as it is wanted. Not with `pause`: a socket that is resumed and paused within one turn reads on, and
 * the request would keep all of it.
 */
async function feed(request: IncomingMessage, body: UploadBody): Promise<void> {
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      await body.push(chunk as Buffer);
      if (body.isOver) return;
    }
    body.end();
  } catch {
    // The client has gone, which ends its call.
    body.stop();
  }
}

function hasBody({
  "content-length": length,
  "transfer-encoding": encoding,
}: IncomingHttpHeaders): boolean {
  return encoding !== undefined || Number(length ?? 0) > 0;
}

function nodeHeaders(
  status: number,
  text: string | Buffer,
  more: HeaderRecord | undefined,
): OutgoingHttpHeaders {
  const own: OutgoingHttpHeaders =
    text.length === 0
      ? status === 204
        ? {}
        : { "Content-Length": 0 }
      : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) };
  return more === undefined ? own : Object.assign(own, more);
}

/** The text of what a body parser made; undefined if it cannot be written. */
function parsedText(body: unknown): string | undefined {
  if (body instanceof Uint8Array) return decodeUtf8(body, 0, body.length);
  if (typeof body === "string") return body;
  try {
    return JSON.stringify(body) ?? "";
  } catch {
    // A parser reads any depth, and writing it overflows the stack.
    return undefined;
  }
}
