import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type EventHost,
  type EventPeer,
  type EventSink,
  eventHeaders,
} from "../../http/event-peer.ts";
import { replyForm } from "../../http/media-type.ts";
import { readBody, refuseBody } from "../../http/node-body.ts";
import { NodeEventSink, whenClosed } from "../../http/node-event-sink.ts";
import { NodeTransport } from "../../http/node-transport.ts";
import { inTurn } from "../../http/pipeline.ts";
import {
  bufferedTooMuch,
  type Refusal,
  replyHeaders,
  statusOf,
  streamGone,
} from "../../http/refusal.ts";
import type { Recording } from "../../http/replay.ts";
import type { RequestHead } from "../../http/request-head.ts";
import { endReply } from "../../http/unread-reply.ts";
import { cutShort, internalError } from "../../protocol/errors.ts";
import type { Linked } from "../../protocol/linked-list.ts";
import { isThenable } from "../../protocol/message.ts";
import { Origin, unreachablePeer } from "../../protocol/origin.ts";
import { abandonCalls, endCalls } from "../../protocol/origin-calls.ts";
import { errorText } from "../../protocol/serialize.ts";
import { connectionLost } from "./endpoint.ts";
import type { NodeEndpoint } from "./node-handler.ts";
import type { Paced } from "./pace.ts";

type HeaderRecord = Readonly<Record<string, string>>;
type OutgoingHeaders = Record<string, string | number>;

/** One HTTP request that brings a call, from its body to its reply. */
export class NodeExchange implements EventHost, Linked<NodeExchange>, Paced {
  prev: NodeExchange | undefined = undefined;
  next: NodeExchange | undefined = undefined;
  readonly #endpoint: NodeEndpoint;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #head: RequestHead;
  #origin: Origin | undefined;
  #transport: NodeTransport | undefined;
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

  get isGone(): boolean {
    return this.#response.destroyed || this.#request.socket?.writableEnded === true;
  }

  /** Takes a call from the body, or from what a body parser made of it. */
  read(plain: boolean): void {
    const { rules } = this.#endpoint;
    readBody(
      this.#request,
      this.#endpoint.bodyLimits,
      (text, isExact) => {
        const answer = (): void => {
          if (text !== undefined) this.#answer(text, plain, isExact ? text : undefined);
          else this.#send(200, rules.service.answerer.unreadable(this.#newOrigin(undefined)));
        };
        const pace = (): void => this.#endpoint.pace.run(this, answer);
        inTurn(this.#request, this.#response, rules.service.running.buffers, pace, text?.length);
      },
      (fault) => this.refuse(fault === "too-large" ? rules.tooLarge : bufferedTooMuch, true),
    );
  }

  /** Sends a refusal at once, and closes when the client has sent all or its time is up. */
  #linger(refusal: Refusal): void {
    const { status, body, headers } = refusal;
    const { clock, service } = this.#endpoint.rules;
    const head = this.#headers(status, body, headers);
    refuseBody(this.#request, this.#response, { status, head, body }, service.limits, clock);
  }

  /** Answers a call that did not come as a body. */
  call(text: string, known: boolean): void {
    this.#answer(text, true, "", known);
  }

  /** `isArriving` says that the client still sends its body. */
  refuse(refusal: Refusal, isArriving = false): void {
    this.#endpoint.rules.tellRefused(refusal);
    if (isArriving || refusal === this.#endpoint.rules.tooLarge) this.#linger(refusal);
    else this.#send(refusal.status, refusal.body, refusal.headers);
  }

  openEvents(): EventSink | undefined {
    if (this.#response.headersSent) return undefined;
    const sink = new NodeEventSink(this.#response, this.#endpoint.rules.writeTimeoutMs);
    this.#response.writeHead(200, this.#with({ ...eventHeaders }));
    whenClosed(this.#response, () => this.#peer?.detach(sink));
    return sink;
  }

  /** Goes on with a stream that another request began, for whoever made that request. */
  resume(recording: Recording, after: number): void {
    this.#ifOwner(recording, () => {
      // It may have come to its end while its owner was asked for.
      if (recording.reaches(after)) this.#replay(recording, after);
      else this.refuse(streamGone);
    });
  }

  /** Ends a stream that another request began. */
  drop(recording: Recording): void {
    this.#ifOwner(recording, () => {
      recording.abandon();
      this.#send(204, "");
    });
  }

  #ifOwner(recording: Recording, then: () => void): void {
    const { rules } = this.#endpoint;
    const refusal = rules.refuseReader(recording, new NodeTransport(this.#request, ""));
    const go = (refused: Refusal | undefined): void => {
      if (refused === undefined) then();
      else this.refuse(refused);
    };
    if (isThenable(refusal)) void refusal.then(go);
    else go(refusal);
  }

  #replay(recording: Recording, after: number): void {
    const sink = new NodeEventSink(this.#response, this.#endpoint.rules.writeTimeoutMs);
    this.#response.writeHead(200, this.#with({ ...eventHeaders }));
    whenClosed(this.#response, () => recording.peer?.detach(sink));
    recording.replay(after, sink);
  }

  abandon(): void {
    if (this.#origin !== undefined) {
      abandonCalls(this.#endpoint.rules.service.running, this.#origin, connectionLost);
    }
  }

  /** Ends what runs, and tells the caller so. */
  cutShort(): void {
    if (this.#origin !== undefined) {
      endCalls(this.#endpoint.rules.service.running, this.#origin, cutShort);
    }
  }

  /** `body` is what was sent, letter by letter, where that is known. */
  #answer(text: string, plain: boolean, body: string | undefined, known = true): void {
    const { rules } = this.#endpoint;
    const form = plain ? "events" : replyForm(this.#head.accept);
    if (form !== "json") this.#peer = rules.peer(this, plain ? "plain" : form, this.#head);
    const origin = this.#newOrigin(body);
    this.#origin = origin;
    this.#peer?.belongsTo(origin);
    const answer = rules.receive(text, origin, plain, known);
    if (answer instanceof Promise) this.#later(answer, form === "events");
    else this.#reply(answer, origin, form === "events");
  }

  #newOrigin(body: string | undefined): Origin {
    const { limits } = this.#endpoint.rules.service;
    this.#transport = new NodeTransport(this.#request, body);
    return new Origin(this.#transport, this.#peer ?? unreachablePeer, limits);
  }

  #later(answer: Promise<string | undefined>, asEvents: boolean): void {
    const origin = this.#origin as Origin;
    const closed = (): void => {
      // A stream of events may be resumed, and knows itself what its end means.
      if (this.#peer?.started !== true) this.abandon();
    };
    whenClosed(this.#response, closed);
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
    const headers = replyHeaders(origin, status);
    if (text === undefined) this.#send(this.#endpoint.rules.noReplyStatus, "", headers);
    else this.#send(status, text, headers);
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
    const { service, writeTimeoutMs } = this.#endpoint.rules;
    endReply(response, text, service.running.buffers, writeTimeoutMs);
  }

  #headers(status: number, text: string, more: HeaderRecord | undefined): OutgoingHeaders {
    const own: OutgoingHeaders =
      text === ""
        ? noBody(status)
        : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) };
    const signature = this.#transport?.signature(status, text);
    if (more !== undefined) Object.assign(own, more);
    if (signature !== undefined) Object.assign(own, signature);
    return this.#with(own);
  }

  /** Adds what pages of listed origins need, and asks for a new connection when this server stops. */
  #with(own: OutgoingHeaders): OutgoingHeaders {
    if (this.#head.origin !== undefined) Object.assign(own, this.#endpoint.rules.cors(this.#head));
    if (this.#endpoint.closing) own.connection = "close";
    return own;
  }
}

function noBody(status: number): OutgoingHeaders {
  return status === 204 ? {} : { "Content-Length": 0 };
}
