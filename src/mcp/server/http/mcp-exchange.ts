import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { abandonCalls, dropCall } from "../../../protocol/context.ts";
import { ErrorCode, internalError } from "../../../protocol/errors.ts";
import type { Linked } from "../../../protocol/linked-list.ts";
import type { Id } from "../../../protocol/message.ts";
import { Origin, type Principal, unreachablePeer } from "../../../protocol/origin.ts";
import { type Envelope, isEnvelope, parsePayload, unparsable } from "../../../protocol/parse.ts";
import { errorText, idText } from "../../../protocol/serialize.ts";
import { connectionLost } from "../../../transports/http/endpoint.ts";
import {
  type EventHost,
  EventPeer,
  type EventSink,
  eventHeaders,
} from "../../../transports/http/events.ts";
import { isJsonType, replyForm } from "../../../transports/http/media-type.ts";
import { readBody, refuseBody } from "../../../transports/http/node-body.ts";
import { NodeEventSink } from "../../../transports/http/node-events.ts";
import { NodeTransport } from "../../../transports/http/node-transport.ts";
import { type Refusal, replyHeaders, statusOf } from "../../../transports/http/status.ts";
import { modernWire } from "../modern.ts";
import type { Session } from "../session.ts";
import { eventForm } from "./event-form.ts";
import type { McpEndpoint } from "./mcp-endpoint.ts";
import type { McpHead } from "./mcp-head.ts";
import * as refusals from "./refusals.ts";
import { headerFault, isModernRequest } from "./standard-headers.ts";
import { StreamPeer } from "./stream-peer.ts";

/** One POST, from its body to its reply. */
export class McpExchange implements EventHost, Linked<McpExchange> {
  prev: McpExchange | undefined = undefined;
  next: McpExchange | undefined = undefined;
  readonly #endpoint: McpEndpoint;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #head: McpHead;
  readonly #principal: Principal | undefined;
  #session: Session | undefined;
  /** Whether the reply of this request is the first that the session hears. */
  #opens = false;
  #origin: Origin | undefined;
  #events: EventPeer | undefined;
  #asEvents = false;
  #waited = false;

  constructor(
    endpoint: McpEndpoint,
    request: IncomingMessage,
    response: ServerResponse,
    head: McpHead,
    principal: Principal | undefined,
  ) {
    this.#endpoint = endpoint;
    this.#request = request;
    this.#response = response;
    this.#head = head;
    this.#principal = principal;
  }

  read(): void {
    if (!isJsonType(this.#head.contentType)) {
      this.refuse(refusals.wrongType);
      return;
    }
    const { limits, running } = this.#endpoint.server;
    readBody(
      this.#request,
      limits.maxMessageBytes,
      (text) => this.#receive(text),
      () => {
        const { status, body, headers } = refusals.tooLarge(limits.maxMessageBytes);
        const head = this.#headers(body, headers);
        refuseBody(this.#request, this.#response, { status, head, body }, limits, running.clock);
      },
    );
  }

  refuse({ status, body, headers }: Refusal): void {
    this.#send(status, body, headers);
  }

  openEvents(): EventSink | undefined {
    if (this.#response.headersSent) return undefined;
    const sink = new NodeEventSink(this.#response);
    this.#response.writeHead(200, this.#with(eventHeaders));
    this.#response.on("close", () => this.#events?.detach(sink));
    return sink;
  }

  abandon(): void {
    if (this.#origin !== undefined) {
      abandonCalls(this.#endpoint.server.running, this.#origin, connectionLost);
    }
  }

  /** Time passes. Whoever waits for long is shown that the wire is alive. */
  tick(): void {
    if (this.#waited) this.#events?.start();
    this.#waited = true;
  }

  #receive(text: string | undefined): void {
    const { limits } = this.#endpoint.server;
    const payload = text === undefined ? unparsable : parsePayload(text, limits.maxBatch);
    if (text === undefined || payload === unparsable) this.refuse(refusals.unreadable);
    else if (Array.isArray(payload)) this.#receiveBatch(payload, text);
    else if (!isEnvelope(payload)) this.refuse(refusals.notAMessage);
    else if (isModernRequest(payload, this.#head)) this.#receiveModern(payload, text);
    else this.#receiveLegacy(payload, text);
  }

  #receiveModern(message: Envelope, text: string): void {
    const { catalog } = this.#endpoint.server;
    const fault = headerFault(message, this.#head, catalog, () => this.#request.headers);
    if (fault !== undefined) {
      this.refuse(refusals.answered(400, readableId(message), fault));
      return;
    }
    this.#answer(message, text, undefined);
  }

  #receiveLegacy(message: Envelope, text: string): void {
    const { id, method } = message;
    if (method === "initialize" && id !== undefined) {
      this.#initialize(message, text);
      return;
    }
    const session = this.#findSession();
    if (session === undefined) return;
    if (method === undefined && isReply(message)) {
      session.pending.settle(message);
      this.#accept();
    } else if (method === "notifications/cancelled") {
      this.#cancel(message, session);
      this.#accept();
    } else this.#answer(message, text, session);
  }

  /** A batch is of one revision only; the rest of what it may hold the answerer knows. */
  #receiveBatch(entries: unknown[], text: string): void {
    const session = this.#findSession();
    if (session === undefined) return;
    if (session.revision !== "2025-03-26") {
      this.refuse(refusals.noBatch);
      return;
    }
    const calls = entries.filter((entry) => {
      const isOurs = isEnvelope(entry) && entry.method === undefined && isReply(entry);
      if (isOurs) session.pending.settle(entry);
      return !isOurs;
    });
    if (calls.length === 0 && entries.length > 0) this.#accept();
    else if (calls.some((call) => isEnvelope(call) && call.method === "initialize")) {
      this.refuse(refusals.noBatch);
    } else
      this.#answer(calls, calls.length === entries.length ? text : JSON.stringify(calls), session);
  }

  #initialize(message: Envelope, text: string): void {
    const { sessions } = this.#endpoint;
    if (this.#head.sessionId !== undefined) {
      const session = this.#findSession();
      if (session !== undefined) this.refuse(refusals.alreadyInitialized);
      return;
    }
    this.#opens = true;
    this.#answer(message, text, sessions.make(this.#principal?.id));
  }

  #findSession(): Session | undefined {
    const found = this.#endpoint.findSession(this.#head, this.#principal);
    if ("body" in found) {
      this.refuse(found);
      return undefined;
    }
    return found;
  }

  #cancel({ params }: Envelope, session: Session): void {
    const { requestId } = (params ?? {}) as { requestId?: Id };
    if (requestId === undefined) return;
    dropCall(this.#endpoint.server.running, requestId, (origin) => origin.session === session);
  }

  #answer(payload: unknown, text: string, session: Session | undefined): void {
    const { server } = this.#endpoint;
    const form = replyForm(this.#head.accept === "*/*" ? undefined : this.#head.accept);
    this.#session = session;
    this.#asEvents = form === "events";
    if (form !== "json" || this.#head.accept === undefined || this.#head.accept === "*/*") {
      this.#events = this.#eventPeer(session);
    }
    const peer =
      this.#events === undefined ? unreachablePeer : new StreamPeer(this.#events, session);
    const origin = new Origin(new NodeTransport(this.#request), peer, server.limits);
    origin.principal = this.#principal;
    origin.session = session ?? modernWire;
    this.#origin = origin;
    const answer = server.answerer.answerPayload(payload, text, origin);
    if (answer instanceof Promise) this.#later(answer);
    else this.#reply(answer, origin);
  }

  #eventPeer(session: Session | undefined): EventPeer {
    const { events, replay } = this.#endpoint;
    if (session === undefined) return new EventPeer(this, eventForm(undefined), events);
    return new EventPeer(this, eventForm(session.revision), events, () =>
      replay.record(session.id),
    );
  }

  #later(answer: Promise<string | undefined>): void {
    const origin = this.#origin as Origin;
    const isModern = this.#session === undefined;
    const closed = (): void => {
      // In the legacy era a broken wire is no cancellation; a stream of events knows its end itself.
      if (isModern && this.#events?.started !== true) this.abandon();
    };
    this.#response.on("close", closed);
    this.#endpoint.enter(this);
    if (this.#asEvents) this.#events?.start();
    answer.then(
      (text) => {
        this.#endpoint.leave(this);
        this.#response.off("close", closed);
        this.#reply(text, origin);
      },
      (error: unknown) => {
        this.#endpoint.leave(this);
        this.#endpoint.server.log.error({ err: error }, "a call could not be answered");
        this.#reply(errorText("2.0", undefined, internalError), origin);
      },
    );
  }

  #reply(text: string | undefined, origin: Origin): void {
    const { lastError } = origin;
    if (this.#opens && lastError === undefined) this.#endpoint.open(this.#session as Session);
    const isInvalid = lastError?.code === ErrorCode.InvalidRequest;
    const status = isInvalid ? 400 : statusOf(lastError);
    const events = this.#events;
    if (events?.started === true || (this.#asEvents && status === 200 && text !== undefined)) {
      events?.finish(text, false);
      return;
    }
    events?.dismiss();
    if (text === undefined) this.#accept();
    else if (status === 200) this.#send(200, text);
    else
      this.#send(
        status,
        text,
        this.#endpoint.challenge(status, lastError, replyHeaders(origin, status)),
      );
  }

  /** There is nothing to say. */
  #accept(): void {
    this.#send(202, "");
  }

  #send(status: number, text: string, headers?: Readonly<Record<string, string>>): void {
    const response = this.#response;
    if (response.headersSent) return;
    response.writeHead(status, this.#headers(text, headers));
    response.end(text);
  }

  #headers(text: string, more?: Readonly<Record<string, string>>): OutgoingHttpHeaders {
    const own =
      text === ""
        ? { "Content-Length": 0 }
        : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) };
    return more === undefined && !this.#opens && this.#head.origin === undefined
      ? own
      : this.#with(own, more);
  }

  #with(own: OutgoingHttpHeaders, more?: Readonly<Record<string, string>>): OutgoingHttpHeaders {
    const opened = this.#opens && this.#origin?.lastError === undefined;
    return {
      ...own,
      ...more,
      ...this.#endpoint.cors(this.#head),
      ...(opened && { "mcp-session-id": (this.#session as Session).id }),
    };
  }
}

function isReply(message: Envelope): boolean {
  return "result" in message || "error" in message;
}

/** The id of a message that is refused before anybody checked it. */
function readableId({ id }: Envelope): string | undefined {
  return typeof id === "string" || typeof id === "number" ? idText(id) : undefined;
}
