import type { IncomingMessage } from "node:http";
import { type EventHost, EventPeer, type EventSink } from "../../../http/event-peer.ts";
import { isJsonType, replyForm } from "../../../http/media-type.ts";
import { readBody, refuseBody } from "../../../http/node-body.ts";
import { whenClosed } from "../../../http/node-event-sink.ts";
import { NodeTransport } from "../../../http/node-transport.ts";
import { inTurn } from "../../../http/pipeline.ts";
import { bufferedTooMuch, replyHeaders, statusOf } from "../../../http/refusal.ts";
import { ErrorCode, internalError } from "../../../protocol/errors.ts";
import { keptEntries } from "../../../protocol/json-text.ts";
import type { Linked } from "../../../protocol/linked-list.ts";
import type { Id } from "../../../protocol/message.ts";
import { Origin, type Principal, unreachablePeer } from "../../../protocol/origin.ts";
import { abandonCalls, callsWhere, dropCall } from "../../../protocol/origin-calls.ts";
import { type Envelope, isEnvelope, parsePayload, unparsable } from "../../../protocol/parse.ts";
import { errorText, idText } from "../../../protocol/serialize.ts";
import { connectionLost } from "../../../transports/http/endpoint.ts";
import { modernWire } from "../modern.ts";
import type { Session } from "../session.ts";
import { eventForm } from "./event-form.ts";
import type { McpEndpoint } from "./mcp-endpoint.ts";
import type { McpHead } from "./mcp-head.ts";
import * as refusals from "./mcp-refusals.ts";
import type { McpResponse } from "./mcp-response.ts";
import { headerFault, isModernRequest } from "./standard-headers.ts";
import { StreamPeer } from "./stream-peer.ts";

/** One POST, from its body to its reply. */
export class McpExchange implements EventHost, Linked<McpExchange> {
  prev: McpExchange | undefined = undefined;
  next: McpExchange | undefined = undefined;
  readonly #endpoint: McpEndpoint;
  readonly #request: IncomingMessage;
  readonly #response: McpResponse;
  readonly #head: McpHead;
  readonly #principal: Principal | undefined;
  #session: Session | undefined;
  /** Whether the reply of this request is the first that the session hears. */
  #opens = false;
  #origin: Origin | undefined;
  #events: EventPeer | undefined;
  #asEvents = false;
  #waited = false;
  /** Whether it is a request that stays open to hear of changes, and has no end of its own. */
  listens = false;

  constructor(
    endpoint: McpEndpoint,
    request: IncomingMessage,
    response: McpResponse,
    head: McpHead,
    principal: Principal | undefined,
  ) {
    this.#endpoint = endpoint;
    this.#request = request;
    this.#response = response;
    this.#head = head;
    this.#principal = principal;
  }

  /** Undefined in the modern era, which has none. */
  get session(): Session | undefined {
    return this.#session;
  }

  read(): void {
    if (!isJsonType(this.#head.contentType)) {
      this.#response.refuse(refusals.wrongType);
      return;
    }
    const { limits, running } = this.#endpoint.server;
    readBody(
      this.#request,
      { maxMessageBytes: limits.maxMessageBytes, buffers: running.buffers },
      (text) => {
        const { raw } = this.#response;
        inTurn(this.#request, raw, running.buffers, () => this.#receive(text), text?.length);
      },
      (fault) => {
        const { status, body, headers } =
          fault === "too-large" ? refusals.tooLarge(limits.maxMessageBytes) : bufferedTooMuch;
        const head = this.#response.head(status, body, headers);
        const { raw } = this.#response;
        refuseBody(this.#request, raw, { status, head, body }, limits, running.clock);
      },
    );
  }

  openEvents(): EventSink | undefined {
    this.#begin();
    return this.#response.events((sink) => this.#events?.detach(sink));
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
    if (text === undefined || payload === unparsable) this.#response.refuse(refusals.unreadable);
    else if (Array.isArray(payload)) this.#receiveBatch(payload, text);
    else if (!isEnvelope(payload)) this.#response.refuse(refusals.notAMessage);
    else if (isModernRequest(payload, this.#head)) this.#receiveModern(payload, text);
    else this.#receiveLegacy(payload, text);
  }

  #receiveModern(message: Envelope, text: string): void {
    const { catalog } = this.#endpoint.server;
    const fault = headerFault(message, this.#head, catalog, () => this.#request.headers);
    if (fault !== undefined) {
      this.#response.refuse(refusals.answered(400, readableId(message), fault));
      return;
    }
    this.listens = message.method === "subscriptions/listen";
    this.#answer(message, text, undefined);
  }

  #receiveLegacy(message: Envelope, text: string): void {
    if (message.method === "initialize" && message.id !== undefined) {
      this.#initialize(message, text);
      return;
    }
    const session = this.#findSession();
    if (session === undefined) return;
    if (this.#receiveOwn(message, session)) this.#response.accept();
    else this.#answer(message, text, session);
  }

  /** Answers to what was asked, and what is about calls rather than for methods. */
  #receiveOwn(message: Envelope, session: Session): boolean {
    const { method } = message;
    if (method === undefined && isReply(message)) session.pending.settle(message);
    else if (method === "notifications/cancelled") this.#cancel(message, session);
    else return false;
    return true;
  }

  /** A batch is of one revision only; the rest of what it may hold the answerer knows. */
  #receiveBatch(entries: unknown[], text: string): void {
    // Whoever has no session is of the modern era, or has not begun.
    if (this.#head.sessionId === undefined) {
      this.#response.refuse(refusals.noBatch);
      return;
    }
    const session = this.#findSession();
    if (session === undefined) return;
    if (session.revision !== "2025-03-26") {
      this.#response.refuse(refusals.noBatch);
      return;
    }
    const isCall = entries.map((entry) => !(isEnvelope(entry) && this.#receiveOwn(entry, session)));
    const calls = entries.filter((_, i) => isCall[i]);
    if (calls.length === 0 && entries.length > 0) this.#response.accept();
    else if (calls.some((call) => isEnvelope(call) && call.method === "initialize")) {
      this.#response.refuse(refusals.noBatch);
    } else {
      const rest = calls.length === entries.length ? text : keptEntries(text, isCall);
      this.#answer(calls, rest, session);
    }
  }

  #initialize(message: Envelope, text: string): void {
    const { sessions } = this.#endpoint;
    if (this.#head.sessionId !== undefined) {
      const session = this.#findSession();
      if (session !== undefined) this.#response.refuse(refusals.alreadyInitialized);
      return;
    }
    if (!sessions.hasRoom) {
      this.#response.refuse(refusals.tooManySessions);
      return;
    }
    this.#opens = true;
    const { remoteAddress } = this.#request.socket;
    this.#answer(message, text, sessions.make(this.#principal?.id, remoteAddress));
  }

  #findSession(): Session | undefined {
    const found = this.#endpoint.findSession(this.#head, this.#principal);
    if ("body" in found) {
      this.#response.refuse(found);
      return undefined;
    }
    return found;
  }

  #cancel({ params }: Envelope, session: Session): void {
    const { requestId } = (params ?? {}) as { requestId?: Id };
    if (requestId === undefined) return;
    dropCall(
      callsWhere(this.#endpoint.server.running, (origin) => origin.session === session),
      requestId,
    );
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
    whenClosed(this.#response.raw, closed);
    this.#endpoint.enter(this);
    if (this.#asEvents) this.#events?.start();
    answer.then(
      (text) => {
        this.#endpoint.leave(this);
        this.#response.raw.off("close", closed);
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
    this.#begin();
    if (this.#opens && lastError === undefined) this.#endpoint.open(this.#session as Session);
    const isInvalid = lastError?.code === ErrorCode.InvalidRequest;
    const status = isInvalid ? 400 : statusOf(lastError);
    const events = this.#events;
    if (events?.started === true || (this.#asEvents && status === 200 && text !== undefined)) {
      events?.finish(text, false);
      return;
    }
    events?.dismiss();
    if (text === undefined) this.#response.accept();
    else if (status === 200) this.#response.send(200, text);
    else {
      const headers = this.#endpoint.challenge(status, lastError, replyHeaders(origin, status));
      this.#response.send(status, text, headers);
    }
  }

  /** The first that a session hears tells its id. */
  #begin(): void {
    if (this.#opens && this.#origin?.lastError === undefined) {
      this.#response.sessionId = (this.#session as Session).id;
    }
  }
}

function isReply(message: Envelope): boolean {
  return "result" in message || "error" in message;
}

/** The id of a message that is refused before anybody checked it. */
function readableId({ id }: Envelope): string | undefined {
  return typeof id === "string" || typeof id === "number" ? idText(id) : undefined;
}
