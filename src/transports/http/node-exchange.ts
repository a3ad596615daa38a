import type { IncomingMessage, ServerResponse } from "node:http";
import { decodeUtf8 } from "../../framing/utf8.ts";
import { abandonCalls } from "../../protocol/context.ts";
import { internalError } from "../../protocol/errors.ts";
import type { Linked } from "../../protocol/linked-list.ts";
import type { ErrorObject } from "../../protocol/message.ts";
import { Origin, type Transport, unreachablePeer } from "../../protocol/origin.ts";
import { errorText } from "../../protocol/serialize.ts";
import { connectionLost, type RequestHead } from "./endpoint.ts";
import { type EventHost, type EventPeer, type EventSink, eventHeaders } from "./events.ts";
import { replyForm } from "./media-type.ts";
import type { NodeEndpoint } from "./node.ts";
import { NodeEventSink } from "./node-events.ts";
import type { Recording } from "./replay.ts";
import { headersOf, type Refusal, statusOf } from "./status.ts";
import { timeoutOf } from "./timeout-header.ts";

type HeaderRecord = Readonly<Record<string, string>>;
type OutgoingHeaders = Record<string, string | number>;

/** Nothing is computed that no handler reads. */
class NodeTransport implements Transport {
  readonly kind = "http";
  readonly #request: IncomingMessage;

  constructor(request: IncomingMessage) {
    this.#request = request;
  }

  get headers(): Transport["headers"] {
    return this.#request.headers;
  }

  get remoteAddress(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  get timeoutMs(): number | undefined {
    const { "timeout-ms": header } = this.#request.headers;
    return typeof header === "string" ? timeoutOf(header) : undefined;
  }
}

/** A reply longer than this may not fit into the buffers of the system, and then its reader counts. */
const largeReply = 64 * 1024;
/** How long a client may go on sending what was refused, so that it reads why. */
const lingerMs = 2_000;

/** One HTTP request that brings a call, from its body to its reply. */
export class NodeExchange implements EventHost, Linked<NodeExchange> {
  prev: NodeExchange | undefined = undefined;
  next: NodeExchange | undefined = undefined;
  readonly #endpoint: NodeEndpoint;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #head: RequestHead;
  #origin: Origin | undefined;
  #peer: EventPeer | undefined;

  constructor(
    endpoint: NodeEndpoint,
    request: IncomingMessage,
    response: ServerResponse,
    head: RequestHead,
  ) {
    this.#endpoint = endpoint;
    this.#request = request;
    this.#response = response;
    this.#head = head;
  }

  /** Takes a call from the body, or from what a body parser made of it. */
  read(plain: boolean): void {
    const request = this.#request as IncomingMessage & { body?: unknown; _body?: boolean };
    if (request._body === true || request.readableEnded) {
      this.#take(request.body, plain);
      return;
    }
    const { maxMessageBytes } = this.#endpoint.rules.service.limits;
    let first: Buffer | undefined;
    let all: Buffer[] | undefined;
    let length = 0;
    const collect = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > maxMessageBytes) {
        request.off("data", collect);
        request.off("end", finish);
        this.refuse(this.#endpoint.rules.tooLarge);
      } else if (first === undefined) first = chunk;
      else if (all === undefined) all = [first, chunk];
      else all.push(chunk);
    };
    const finish = (): void => {
      this.#receive(all === undefined ? first : Buffer.concat(all, length), plain);
    };
    request.on("data", collect);
    request.on("end", finish);
  }

  /** Sends a refusal at once, and closes when the client has sent all or goes on for too long. */
  #linger(refusal: Refusal): void {
    const { maxMessageBytes } = this.#endpoint.rules.service.limits;
    const request = this.#request;
    if (this.#response.headersSent) return;
    let left = maxMessageBytes;
    const { status, body, headers } = refusal;
    this.#response.writeHead(status, this.#headers(status, body, headers));
    this.#response.write(body);
    const close = (): void => {
      late.cancel();
      if (!this.#response.writableEnded) this.#response.end();
    };
    const late = this.#endpoint.rules.clock.after(lingerMs, close);
    request.on("data", (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) close();
    });
    request.on("end", close);
    this.#response.on("close", close);
  }

  /** Answers a call that did not come as a body. */
  call(text: string): void {
    this.#answer(text, true);
  }

  refuse(refusal: Refusal): void {
    this.#endpoint.rules.tellRefused(refusal);
    if (refusal === this.#endpoint.rules.tooLarge) this.#linger(refusal);
    else this.#send(refusal.status, refusal.body, refusal.headers);
  }

  openEvents(): EventSink | undefined {
    if (this.#response.headersSent) return undefined;
    const sink = new NodeEventSink(this.#response);
    this.#response.writeHead(200, this.#with(eventHeaders));
    this.#response.on("close", () => this.#peer?.detach(sink));
    return sink;
  }

  /** Goes on with a stream that another request began. */
  resume(recording: Recording, after: number): void {
    const sink = new NodeEventSink(this.#response);
    this.#response.writeHead(200, this.#with(eventHeaders));
    this.#response.on("close", () => recording.peer?.detach(sink));
    recording.replay(after, sink);
  }

  abandon(error: ErrorObject = connectionLost): void {
    if (this.#origin !== undefined) {
      abandonCalls(this.#endpoint.rules.service.running, this.#origin, error);
    }
  }

  #take(body: unknown, plain: boolean): void {
    if (body instanceof Uint8Array) this.#receive(body, plain);
    else if (typeof body === "string") this.#answer(body, plain);
    else this.#answer(JSON.stringify(body) ?? "", plain);
  }

  #receive(body: Uint8Array | undefined, plain: boolean): void {
    const text = body === undefined ? "" : decodeUtf8(body, 0, body.length);
    if (text !== undefined) this.#answer(text, plain);
    else this.#send(200, this.#endpoint.rules.service.answerer.unreadable(this.#newOrigin()));
  }

  #answer(text: string, plain: boolean): void {
    const { rules } = this.#endpoint;
    const form = plain ? "events" : replyForm(this.#head.accept);
    if (form !== "json") this.#peer = rules.peer(this, plain ? "plain" : form, this.#head);
    const origin = this.#newOrigin();
    this.#origin = origin;
    const answer = plain ? rules.receiveOne(text, origin) : rules.service.receive(text, origin);
    if (answer instanceof Promise) this.#later(answer, form === "events");
    else this.#reply(answer, origin, form === "events");
  }

  #newOrigin(): Origin {
    const { limits } = this.#endpoint.rules.service;
    return new Origin(new NodeTransport(this.#request), this.#peer ?? unreachablePeer, limits);
  }

  #later(answer: Promise<string | undefined>, asEvents: boolean): void {
    const origin = this.#origin as Origin;
    const closed = (): void => {
      // A stream of events may be resumed, and knows itself what its end means.
      if (this.#peer?.started !== true) this.abandon();
    };
    this.#response.on("close", closed);
    this.#endpoint.enter(this);
    if (asEvents) this.#peer?.start();
    answer.then(
      (text) => {
        this.#endpoint.leave(this);
        this.#response.off("close", closed);
        this.#reply(text, origin, asEvents);
      },
      (error: unknown) => {
        this.#endpoint.leave(this);
        this.#endpoint.rules.service.log.error({ err: error }, "a call could not be answered");
        this.#reply(errorText("2.0", "null", internalError), origin, asEvents);
      },
    );
  }

  #reply(text: string | undefined, origin: Origin, asEvents: boolean): void {
    const status = origin.lastError === undefined ? 200 : statusOf(origin.lastError);
    const peer = this.#peer;
    if (peer?.started === true || (asEvents && status === 200 && text !== undefined)) {
      peer?.finish(text, origin.streams !== undefined);
      return;
    }
    peer?.dismiss();
    if (text === undefined) this.#send(this.#endpoint.rules.noReplyStatus, "");
    else this.#send(status, text, status === 200 ? undefined : headersOf(origin.lastError));
  }

  #send(status: number, text: string, headers?: HeaderRecord): void {
    const response = this.#response;
    // Somebody else may have answered, such as a middleware that watches the time.
    if (response.headersSent) return;
    try {
      response.writeHead(status, this.#headers(status, text, headers));
    } catch (error) {
      this.#endpoint.rules.service.log.error({ err: error }, "an error carries invalid headers");
      response.writeHead(status, this.#headers(status, text, undefined));
    }
    response.end(text);
    if (text.length > largeReply) response.setTimeout(this.#endpoint.writeTimeoutMs);
  }

  #headers(status: number, text: string, more: HeaderRecord | undefined): OutgoingHeaders {
    const own: OutgoingHeaders =
      text === ""
        ? noBody(status)
        : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) };
    return more === undefined && this.#head.origin === undefined && !this.#endpoint.closing
      ? own
      : this.#with(own, more);
  }

  /** Adds what pages of listed origins need, and asks for a new connection when this server stops. */
  #with(own: OutgoingHeaders, more?: HeaderRecord): OutgoingHeaders {
    return {
      ...own,
      ...more,
      ...this.#endpoint.rules.cors(this.#head),
      ...(this.#endpoint.closing ? { connection: "close" } : undefined),
    };
  }
}

function noBody(status: number): OutgoingHeaders {
  return status === 204 ? {} : { "Content-Length": 0 };
}
