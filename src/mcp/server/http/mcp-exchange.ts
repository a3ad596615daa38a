import type { HeaderRecord } from "../../../http/client-exchange.ts";
import { EventPeer } from "../../../http/event-peer.ts";
import { Exchange, type ExchangeHost } from "../../../http/exchange.ts";
import type { BodyFault, HttpMessage } from "../../../http/http-message.ts";
import { isJsonType, replyForm } from "../../../http/media-type.ts";
import {
  bodyConsumed,
  bufferedTooMuch,
  type Refusal,
  replyHeaders,
  statusOf,
} from "../../../http/refusal.ts";
import type { Answer } from "../../../protocol/answer.ts";
import { type Envelope, isEnvelope } from "../../../protocol/envelope.ts";
import { ErrorCode } from "../../../protocol/errors.ts";
import { keptEntries } from "../../../protocol/json-scan.ts";
import { unparsable } from "../../../protocol/json-text.ts";
import type { Linked } from "../../../protocol/linked-list.ts";
import { andThen, type Id, type MaybePromise } from "../../../protocol/message.ts";
import type { Origin, Principal } from "../../../protocol/origin.ts";
import { parsePayload } from "../../../protocol/payload.ts";
import { errorText } from "../../../protocol/reply-text.ts";
import { idText } from "../../../protocol/serialize.ts";
import { internalError } from "../../../protocol/standard-errors.ts";
import type { McpServer } from "../mcp-server.ts";
import { modernWire } from "../modern.ts";
import type { Session } from "../session.ts";
import type { McpEndpoint } from "./mcp-endpoint.ts";
import * as refusals from "./mcp-refusals.ts";
import type { ForwardedMessage, SharedSessions } from "./shared-sessions.ts";
import { headerFault, isModernRequest, McpHead } from "./standard-headers.ts";
import { eventForm, StreamPeer } from "./stream-peer.ts";

const internalErrorText = errorText("2.0", undefined, internalError);

/** What MCP does with one HTTP request: which session it belongs to, and which message its body is. */
export class McpExchange implements ExchangeHost, Linked<McpExchange> {
  prev: McpExchange | undefined = undefined;
  next: McpExchange | undefined = undefined;
  readonly head: McpHead;
  readonly exchange: Exchange;
  readonly service: McpServer;
  readonly noReplyStatus = 202;
  // A tool cannot opt out.
  readonly compresses = false;
  readonly internalError = internalErrorText;
  principal: Principal | undefined = undefined;
  /** Undefined in the modern era, which has none. */
  session: Session | undefined = undefined;
  /** Whether it is a request that stays open for notifications of changes, and has no end of its own. */
  listens = false;
  readonly #endpoint: McpEndpoint;
  /** Whether the reply to this request begins the session. */
  #opens = false;
  #hasTicked = false;

  constructor(endpoint: McpEndpoint, message: HttpMessage) {
    this.#endpoint = endpoint;
    this.service = endpoint.server;
    this.head = new McpHead(message.head);
    this.exchange = new Exchange(this, message);
  }

  admitted(principal: Principal | undefined): void {
    this.principal = principal;
    this.#endpoint.route(this);
  }

  /** Reads the body of a POST, and answers it. */
  read(): void {
    const { message } = this.exchange;
    if (isJsonType(message.head.contentType)) message.read(this.exchange);
    else this.refuse(refusals.wrongType);
  }

  refuse(refusal: Refusal): void {
    this.exchange.refuse(refusal);
  }

  received(_: Exchange, text: string | undefined): void {
    const payload =
      text === undefined ? unparsable : parsePayload(text, this.service.limits.maxBatch);
    if (text === undefined || payload === unparsable) this.refuse(refusals.unreadable);
    else if (Array.isArray(payload)) this.#receiveBatch(payload, text);
    else if (!isEnvelope(payload)) this.refuse(refusals.notAMessage);
    else if (isModernRequest(payload, this.head)) this.#receiveModern(payload, text);
    else this.#receiveLegacy(payload, text);
  }

  refusalOf(fault: BodyFault): Refusal {
    if (fault === "unreadable") return refusals.unreadable;
    if (fault === "consumed") return bodyConsumed;
    return fault === "too-large"
      ? refusals.tooLarge(this.service.limits.maxMessageBytes)
      : bufferedTooMuch;
  }

  /** The first response of a session has its id. */
  commonHeaders({ message, origin }: Exchange): HeaderRecord | undefined {
    const cors =
      message.head.origin === undefined ? undefined : this.#endpoint.cors(message.head.origin);
    return this.#opens && origin !== undefined && origin.lastError === undefined
      ? { ...cors, "mcp-session-id": (this.session as Session).id }
      : cors;
  }

  conclude({ lastError }: Origin): number {
    if (this.#opens && lastError === undefined) this.#endpoint.open(this.session as Session);
    return lastError?.code === ErrorCode.InvalidRequest ? 400 : statusOf(lastError);
  }

  replyHeaders(origin: Origin, status: number): HeaderRecord | undefined {
    const headers = replyHeaders(origin, status);
    return status === 200 ? headers : this.#endpoint.challenge(status, origin.lastError, headers);
  }

  enter(): void {
    this.#endpoint.enter(this);
  }

  leave(): void {
    this.#endpoint.leave(this);
  }

  disconnected(): void {
    // In the legacy era a broken connection does not cancel the call.
    if (this.session === undefined) this.exchange.abandon();
  }

  /** Called in the interval of keep-alives: a client that has waited for a whole one is shown that it is connected. */
  tick(): void {
    if (this.#hasTicked) this.exchange.showAlive();
    this.#hasTicked = true;
  }

  #receiveModern(message: Envelope, text: string): void {
    const fault = headerFault(message, this.head, this.service.catalog);
    if (fault !== undefined) {
      this.refuse(refusals.answered(400, readableId(message), fault));
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
    this.#endpoint.withSession(this, (session) => {
      const forwarded = this.#receiveOwn(message, session);
      if (forwarded === undefined) this.#answer(message, text, session);
      else return andThen(forwarded, () => this.#accept());
    });
  }

  /**
   * Takes replies to calls of the server, and notifications about calls; those for another process are forwarded. Undefined
   * if it is neither.
   */
  #receiveOwn(message: Envelope, session: Session): MaybePromise<true> | undefined {
    const forwarded = forwardedIn(message);
    if (forwarded === undefined) return undefined;
    const { shared } = this.#endpoint;
    const isDone =
      "reply" in forwarded
        ? session.pending.settle(forwarded.reply) || shared?.isOwn(forwarded.reply) !== false
        : forwarded.cancel === undefined || this.#endpoint.cancel(session, forwarded.cancel);
    if (isDone || shared === undefined) return true;
    return shared.forward(session, forwarded as ForwardedMessage).then(() => true);
  }

  /** Only one revision has batches; the answerer checks the entries. */
  #receiveBatch(entries: unknown[], text: string): void {
    // A client without a session is of the modern era, or has not initialized.
    if (this.head.sessionId === undefined) {
      this.refuse(refusals.noBatch);
      return;
    }
    this.#endpoint.withSession(this, (session) => this.#receiveEntries(entries, text, session));
  }

  async #receiveEntries(entries: unknown[], text: string, session: Session): Promise<void> {
    if (session.revision !== "2025-03-26") {
      this.refuse(refusals.noBatch);
      return;
    }
    const own = entries.map((entry) =>
      isEnvelope(entry) ? this.#receiveOwn(entry, session) : undefined,
    );
    const isCall = own.map((each) => each === undefined);
    await Promise.all(own);
    const calls = entries.filter((_, i) => isCall[i]);
    if (calls.length === 0 && entries.length > 0) this.#accept();
    else if (calls.some((call) => isEnvelope(call) && call.method === "initialize")) {
      this.refuse(refusals.noBatch);
    } else {
      const rest = calls.length === entries.length ? text : keptEntries(text, isCall);
      this.#answer(calls, rest, session);
    }
  }

  #initialize(message: Envelope, text: string): void {
    const { sessions } = this.#endpoint;
    if (this.head.sessionId !== undefined) {
      this.#endpoint.withSession(this, () => this.refuse(refusals.alreadyInitialized));
      return;
    }
    if (!sessions.hasRoom) {
      this.refuse(refusals.tooManySessions);
      return;
    }
    this.#opens = true;
    const { remoteAddress } = this.exchange.message;
    this.#answer(message, text, sessions.make(this.principal?.id, remoteAddress));
  }

  #accept(): void {
    this.exchange.send(this.noReplyStatus, "");
  }

  #answer(payload: unknown, text: string, session: Session | undefined): void {
    this.session = session;
    const origin = this.#begin(session, payload);
    origin.principal = this.principal;
    origin.session = session ?? modernWire;
    const answer = this.service.answerer.answerPayload(payload, text, origin);
    this.exchange.answer(session === undefined ? answer : this.#stored(answer, session), origin);
  }

  /** Other processes must know the changes of the request before its client does. */
  #stored(answer: Answer, session: Session): Answer {
    const { shared } = this.#endpoint;
    if (shared === undefined) return answer;
    const store = async (text: string | undefined): Promise<string | undefined> => {
      if (this.#opens) await this.#create(session, shared);
      else if (session.isChanged) await shared.store(session);
      return text;
    };
    if (answer instanceof Promise) return answer.then(store);
    return this.#opens || session.isChanged ? store(answer) : answer;
  }

  async #create(session: Session, shared: SharedSessions): Promise<void> {
    const { origin } = this.exchange;
    if (origin?.lastError !== undefined) return;
    try {
      await shared.create(session);
    } catch (error) {
      this.#opens = false;
      throw error;
    }
  }

  #begin(session: Session | undefined, payload: unknown): Origin {
    const { accept } = this.head;
    const form = replyForm(accept);
    if (form === "json" && accept !== undefined) return this.exchange.begin(undefined);
    const { events: settings, replay, shared } = this.#endpoint;
    const request = isEnvelope(payload) ? (payload.id as Id | undefined) : undefined;
    const record =
      session &&
      (() => replay.record(session.id, (key) => shared?.copy(key, session, request, false)));
    const events = new EventPeer(this.exchange, eventForm(session?.revision), settings, record);
    const peer = new StreamPeer(events, session);
    return this.exchange.beginEvents(undefined, events, form === "events", peer);
  }
}

/** Messages of a client about calls in progress. */
function forwardedIn(
  message: Envelope,
): { readonly reply: Envelope } | { readonly cancel: Id | undefined } | undefined {
  const { method, params } = message;
  if (method === undefined && isReply(message)) return { reply: message };
  if (method !== "notifications/cancelled") return undefined;
  const { requestId } = (params ?? {}) as { requestId?: Id };
  return { cancel: requestId };
}

function isReply(message: Envelope): boolean {
  return "result" in message || "error" in message;
}

/** The id of a message that is refused before it was checked. */
function readableId({ id }: Envelope): string | undefined {
  return typeof id === "string" || typeof id === "number" ? idText(id) : undefined;
}
