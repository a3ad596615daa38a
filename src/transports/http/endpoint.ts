import { countedFromBytes } from "../../http/body-bytes.ts";
import type { HeaderRecord } from "../../http/client-exchange.ts";
import type { SentBody } from "../../http/content-coding.ts";
import { Exchange, type ExchangeHost } from "../../http/exchange.ts";
import type { BodyFault, HttpMessage } from "../../http/http-message.ts";
import { HttpTransport } from "../../http/http-transport.ts";
import { replyForm } from "../../http/media-type.ts";
import {
  badRequest,
  bodyConsumed,
  bufferedTooMuch,
  malformedParts,
  type Refusal,
  replyHeaders,
  statusOf,
  streamGone,
} from "../../http/refusal.ts";
import type { Recording } from "../../http/replay.ts";
import { grantsOf, UploadBody } from "../../http/upload-body.ts";
import { LinkedList } from "../../protocol/linked-list.ts";
import type { Buffering, WireBuffers } from "../../protocol/memory-bounds.ts";
import { isThenable } from "../../protocol/message.ts";
import { type Origin, unreachablePeer } from "../../protocol/origin.ts";
import { errorText } from "../../protocol/reply-text.ts";
import type { Service } from "../../protocol/service.ts";
import { internalError } from "../../protocol/standard-errors.ts";
import type { EndpointRules, Route } from "./endpoint-rules.ts";

/** Decides when a call runs; Node has one, so that a busy server continues to read. */
export interface CallPace {
  /** Set when a request arrives, whatever becomes of it. */
  hasArrived: boolean;
  run(call: WaitingCall): void;
}

/** One service over HTTP: follows the rules, and answers what they let pass. */
export class Endpoint implements ExchangeHost {
  readonly rules: EndpointRules;
  readonly service: Service;
  readonly noReplyStatus: number;
  readonly compresses: boolean;
  readonly internalError: string = errorText("2.0", "null", internalError);
  readonly #pace: CallPace | undefined;
  readonly #open = new LinkedList<Exchange>();
  readonly #idle: (() => void)[] = [];
  /** Set when the server stops: connections close after their reply. */
  closing = false;

  constructor(rules: EndpointRules, pace?: CallPace) {
    this.rules = rules;
    this.service = rules.service;
    this.noReplyStatus = rules.noReplyStatus;
    this.compresses = rules.compresses;
    this.#pace = pace;
  }

  handle(message: HttpMessage): void {
    if (this.#pace !== undefined) this.#pace.hasArrived = true;
    const exchange = new Exchange(this, message);
    const route = this.rules.route(message.head, message.url);
    if (route.kind === "read") message.read(exchange);
    else if (route.kind === "lines") this.#receiveUpload(exchange);
    else if (route.kind === "parts") message.inTurn(() => void exchange.readParts(route.boundary));
    else message.inTurn(() => this.#follow(exchange, route));
  }

  received(exchange: Exchange, text: string | undefined, sent: SentBody | undefined): void {
    this.#paced(new WaitingCall(exchange, text, sent, this.service.running.buffers, this.#run));
  }

  refusalOf(fault: BodyFault): Refusal {
    if (fault === "malformed") return malformedParts;
    if (fault === "unreadable") return badRequest;
    if (fault === "consumed") return bodyConsumed;
    return fault === "too-large" ? this.rules.tooLarge : bufferedTooMuch;
  }

  /** What pages of listed origins need; asks for a new connection when this server stops. */
  commonHeaders({ message }: Exchange): HeaderRecord | undefined {
    const cors = message.head.origin === undefined ? undefined : this.rules.cors(message.head);
    return this.closing ? { ...cors, connection: "close" } : cors;
  }

  conclude({ lastError }: Origin): number {
    return lastError === undefined ? 200 : statusOf(lastError);
  }

  replyHeaders(origin: Origin, status: number): HeaderRecord | undefined {
    return replyHeaders(origin, status);
  }

  enter(exchange: Exchange): void {
    this.#open.add(exchange);
  }

  leave(exchange: Exchange): void {
    this.#open.remove(exchange);
    if (this.#open.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  disconnected(exchange: Exchange): void {
    exchange.abandon();
  }

  /** Resolves when no request waits for its call. */
  idle(): Promise<void> {
    return this.#open.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Asks clients for a new connection from now on, and ends the calls that nothing else would end. */
  close(): void {
    this.closing = true;
    for (const exchange of this.#open.list()) exchange.endSubscriptions();
  }

  /** Ends all calls, and replies so. */
  cutShort(): void {
    for (const exchange of this.#open.list()) exchange.cutShort();
  }

  #follow(exchange: Exchange, route: Exclude<Route, { kind: "read" | "lines" | "parts" }>): void {
    switch (route.kind) {
      case "refuse":
        exchange.refuse(route.refusal, route.refusal === this.rules.tooLarge);
        break;
      case "call":
        this.#answerPlain(exchange, route.text, "", route.known);
        break;
      case "resume":
        this.#ifOwner(exchange, route.recording, () => {
          // The stream may have been dropped while its reader was checked.
          if (route.recording.reaches(route.after)) exchange.replay(route.recording, route.after);
          else exchange.refuse(streamGone);
        });
        break;
      case "drop":
        this.#ifOwner(exchange, route.recording, () => {
          route.recording.abandon();
          exchange.send(204, "");
        });
    }
  }

  readonly #run = ({ exchange, text, sent }: WaitingCall): void => {
    if (text !== undefined) this.#answer(exchange, text, sent);
    else exchange.send(200, this.service.answerer.unreadable(exchange.begin(undefined)));
  };

  /** `body` is exactly what was sent, if that is known. */
  #answer(exchange: Exchange, text: string, body: SentBody | undefined): void {
    const { head, url } = exchange.message;
    if (this.rules.isPlainStream(url)) {
      this.#answerPlain(exchange, text, body, true);
      return;
    }
    const { eventForm } = this.service;
    if (eventForm !== undefined) {
      const events = this.rules.peer(exchange, eventForm, head);
      const origin = exchange.beginEvents(body, events, false);
      exchange.answer(this.service.answerer.answer(text, origin, exchange), origin);
      return;
    }
    const form = replyForm(head.accept);
    const origin =
      form === "json"
        ? exchange.begin(body)
        : exchange.beginEvents(body, this.rules.peer(exchange, form, head), form === "events");
    exchange.answer(this.service.answerer.answer(text, origin, exchange), origin);
  }

  /** Answers a call whose body is still arriving. */
  #receiveUpload(exchange: Exchange): void {
    const { message } = exchange;
    const body = new UploadBody(this.rules.limits, {
      begun: (text) => {
        message.allowLateBody();
        message.inTurn(() => this.#runUpload(exchange, text, body), text.length);
      },
      failed: (fault) => {
        if (exchange.origin === undefined) exchange.failed(fault);
        else exchange.shed();
      },
    });
    exchange.upload = body;
    message.readLines(body);
  }

  #answerUpload(exchange: Exchange, text: string, body: UploadBody): void {
    const { head } = exchange.message;
    const grantUpload = grantsOf(body);
    let origin: Origin;
    if (replyForm(head.accept) === "json") {
      origin = exchange.begin(undefined, { ...unreachablePeer, grantUpload });
    } else {
      // Not resumable: another request could not send the rest of the body.
      const events = this.rules.peer(exchange, "either", head);
      events.grantUpload = grantUpload;
      origin = exchange.beginEvents(undefined, events, false);
    }
    body.begin(this.service.running, origin);
    exchange.answer(this.service.receive(text, origin), origin);
  }

  #runUpload(exchange: Exchange, text: string, body: UploadBody): void {
    const answer = (): void => this.#answerUpload(exchange, text, body);
    const { buffers } = this.service.running;
    this.#paced(new WaitingCall(exchange, undefined, undefined, buffers, answer));
  }

  #paced(call: WaitingCall): void {
    if (this.#pace === undefined) call.run();
    else this.#pace.run(call);
  }

  /** Answers a call of the plain form of streams. */
  #answerPlain(exchange: Exchange, text: string, body: SentBody | undefined, known: boolean): void {
    const events = this.rules.peer(exchange, "plain", exchange.message.head);
    const origin = exchange.beginEvents(body, events, true);
    exchange.answer(this.rules.receivePlain(text, origin, known), origin);
  }

  #ifOwner(exchange: Exchange, recording: Recording, then: () => void): void {
    const refusal = this.rules.refuseReader(recording, new HttpTransport(exchange.message, ""));
    const proceed = (refused: Refusal | undefined): void => {
      if (refused === undefined) then();
      else exchange.refuse(refused);
    };
    if (isThenable(refusal)) void refusal.then(proceed);
    else proceed(refusal);
  }
}

/** A call whose body has arrived and that may have to wait. A long body counts as memory until the call runs. */
export class WaitingCall implements Buffering {
  readonly exchange: Exchange;
  readonly bufferedBytes: number;
  /** Undefined if it is not UTF-8. */
  text: string | undefined;
  /** The body exactly as it was sent, if that is known. */
  sent: SentBody | undefined;
  readonly #buffers: WireBuffers;
  readonly #answer: (call: WaitingCall) => void;
  /** Whether it was refused because all connections buffer too much. */
  isRefused = false;

  constructor(
    exchange: Exchange,
    text: string | undefined,
    sent: SentBody | undefined,
    buffers: WireBuffers,
    answer: (call: WaitingCall) => void,
  ) {
    this.exchange = exchange;
    this.text = text;
    this.sent = sent;
    this.#buffers = buffers;
    this.#answer = answer;
    this.bufferedBytes = text?.length ?? 0;
    if (this.bufferedBytes < countedFromBytes) return;
    buffers.opened(this);
    buffers.moved(this.bufferedBytes);
  }

  /** Whether its caller no longer waits for it. */
  get isGone(): boolean {
    return this.isRefused || this.exchange.isGone;
  }

  run(): void {
    this.ended();
    if (!this.isRefused) this.#answer(this);
  }

  /** It no longer waits: it is about to run, or never will. */
  ended(): void {
    if (this.bufferedBytes >= countedFromBytes) this.#buffers.closed(this);
  }

  shed(): void {
    this.isRefused = true;
    // It stays in its queue, but its body does not.
    this.text = undefined;
    this.sent = undefined;
    this.ended();
    this.exchange.failed("overload");
  }
}
