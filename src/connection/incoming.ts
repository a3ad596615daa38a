import type { Clock } from "../protocol/clock.ts";
import { duplicateMember, type Envelope, isEnvelope } from "../protocol/envelope.ts";
import { ErrorCode, RemoteError, WireError } from "../protocol/errors.ts";
import { isRefusal } from "../protocol/handle.ts";
import { keptEntries } from "../protocol/json-scan.ts";
import { unparsable } from "../protocol/json-text.ts";
import type { AnswerReceiver } from "../protocol/later-answer.ts";
import type { ErrorObject, Id, Reply } from "../protocol/message.ts";
import { replyOf } from "../protocol/pair.ts";
import { errorText } from "../protocol/reply-text.ts";
import { idText } from "../protocol/serialize.ts";
import { internalError, serverBusy } from "../protocol/standard-errors.ts";
import { failUploads, itemUnreadable } from "../protocol/upload.ts";
import { settledOrTimeout } from "../protocol/waiting.ts";
import { receiveNotice } from "./call-notices.ts";
import type { ChannelFault, ChannelListener } from "./channel.ts";
import { Admission, type Decision } from "./connection-admission.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import type { ConnectionState } from "./connection-state.ts";
import type { CallAnswerer } from "./no-methods.ts";
import type { Notices } from "./notices.ts";
import { isRejection, isShutdownNotice, NotTaken } from "./shutdown-notice.ts";

const httpRequestLine = /^[A-Z]+ \S+ HTTP\/\d/;

/** Handles the peer's messages: replies to our calls, notices about calls, and calls to answer. */
export class Incoming implements ChannelListener {
  /** Answers the calls; replaced when the connection finishes. */
  answerer: CallAnswerer;
  readonly #state: ConnectionState;
  readonly #serves: boolean;
  readonly #strikes: Strikes;
  readonly #notices: Notices | undefined;
  #admission: Admission | undefined;
  /** True until the first reply on an unsigned connection; on a signed one that reply could be forged. */
  #isFirstReply: boolean;
  readonly #typed = (id: Id, reply: Reply): Reply =>
    this.#state.beside?.received(id, reply) ?? reply;

  constructor(state: ConnectionState, answerer: CallAnswerer, options: ConnectionOptions) {
    this.#state = state;
    this.answerer = answerer;
    this.#serves = options.service !== undefined;
    this.#strikes = new Strikes(options.maxStrikes ?? 10, state.running.clock);
    this.#notices = options.notices;
    const isSealed = (options.seal ?? options.service?.seal) !== undefined;
    this.#isFirstReply = !isSealed && options.notices === undefined;
  }

  /** Asks the service about the connection, unless the wire has; messages are held meanwhile. */
  admit({ service, transport, decision }: ConnectionOptions): void {
    if (decision !== undefined) this.#decide(decision.value, []);
    else if (service?.admit !== undefined) {
      this.#admission = new Admission(service.admit, transport, (said, held) => {
        this.#state.resume();
        this.#decide(said, held);
      });
      if (this.#admission.isOpen) this.#state.pause();
    }
  }

  /** Waits for the decision about the connection, up to a limit. */
  async decided(atMostMs: number): Promise<void> {
    const decided = this.#admission?.isOpen ? this.#admission.decided : undefined;
    if (decided !== undefined) await settledOrTimeout(this.#state.running.clock, atMostMs, decided);
  }

  message(text: string): void {
    const state = this.#state;
    if (!state.isOpen) return;
    if (this.#admission?.isOpen) {
      if (!this.#admission.hold(text, state.limits.maxBufferedBytes)) this.#refuse(serverBusy);
      return;
    }
    state.tap?.(text, "received");
    const { maxBatch, maxMessageBytes, maxReplyLength } = state.limits;
    // A reply may be longer than a call, and comes only while a call is open.
    const isTooLong =
      text.length > maxMessageBytes && (text.length > maxReplyLength || state.pending.size === 0);
    if (isTooLong) {
      this.fault({ kind: "oversize", message: "the message is too long" });
      return;
    }
    const payload = this.answerer.parse(text, maxBatch);
    if (payload === unparsable) {
      this.fault({ kind: "unreadable", message: "the message is not JSON" });
      // A web page can make a browser send an HTTP request to this port, with calls in its body.
      if (httpRequestLine.test(text)) this.#cutOff("the peer sends HTTP");
      return;
    }
    state.received++;
    if (Array.isArray(payload)) {
      this.#receiveBatch(payload, text);
    } else if (!isEnvelope(payload) || !this.#receiveOwn(payload, text, 1)) {
      this.#answer(payload, text);
    }
  }

  bytes(frame: Uint8Array): void {
    if (!this.#state.isOpen) return;
    const { beside } = this.#state;
    const fault = beside === undefined ? "frames of bytes are not accepted" : beside.frame(frame);
    if (fault !== undefined) this.fault({ kind: "unreadable", message: fault });
  }

  fault(fault: ChannelFault): void {
    if (!this.#state.isOpen) return;
    failUploads(this.#state.running, this.#state.origin, itemUnreadable);
    if (fault.kind === "oversize") {
      // It may have been the reply to any open call, and none may wait forever.
      this.#state.pending.failUnnamed(
        new WireError("TOO_LARGE", "the reply is longer than limits.maxReplyLength"),
      );
      this.#strike(this.answerer.tooLarge(this.#state.origin), fault.message);
    } else if (fault.kind === "refused") this.#refused(fault);
    else if (fault.isFatal) {
      if (this.#serves) this.#warn(fault.message);
      // The peer cannot see our log, and would only learn that it sent no JSON.
      this.#strike(this.answerer.unreadable(this.#state.origin, fault.message), fault.message);
    } else this.#strike(this.answerer.unreadable(this.#state.origin), fault.message);
  }

  /** A refused call is answered; anything else may have been the reply to any open call. */
  #refused({ error = internalError, call, message }: ChannelFault): void {
    if (call === undefined) {
      if (this.#state.pending.size > 0)
        this.#state.pending.failUnnamed(new WireError("BAD_REPLY", message));
      this.#strike(errorText("2.0", "null", error), message);
      return;
    }
    const { id } = call;
    const named = typeof id === "string" || typeof id === "number" ? idText(id) : "null";
    this.#strike(id === undefined ? undefined : errorText("2.0", named, error), message);
  }

  arriving(bytes: number): void {
    this.#state.running.buffers.moved(bytes);
  }

  drain(): void {
    this.#state.drain();
  }

  end(error?: Error): void {
    this.#state.end(error);
  }

  #decide(decision: Decision, held: readonly string[]): void {
    const said = this.#state.origin.principal;
    if (isRefusal(decision)) this.#refuse(decision);
    else if (said !== undefined && decision !== undefined && said.id !== decision.id) {
      // A signed message named another principal before.
      this.#refuse({ code: ErrorCode.Unauthenticated, message: "Unauthenticated" });
    } else {
      if (decision !== undefined) this.#state.origin.principal = decision;
      for (const text of held) this.message(text);
    }
  }

  #refuse(error: ErrorObject): void {
    this.#state.write(errorText("2.0", "null", error));
    this.#state.close(new WireError("CLOSED", "the connection was refused"), "refused");
  }

  /** Handles replies to our calls, and notifications about calls; false if the message is for a method. */
  #receiveOwn(message: Envelope, text: string, count: number): boolean {
    const { method } = message;
    if (method === undefined) {
      const { result, error } = message as { result?: unknown; error?: unknown };
      if (result === undefined && error === undefined) {
        // A client without a service must not answer what is not a call, or two clients could answer each other
        // forever.
        if (!this.#serves)
          this.#state.log.debug({}, "ignored a message that is neither a call nor a reply");
        return !this.#serves;
      }
      const isFirst = this.#isFirstReply;
      this.#isFirstReply = false;
      const { id } = message;
      // An error about the whole connection has no id.
      if ((id !== null && id !== undefined) || !this.#receiveConnectionError(message, isFirst)) {
        const isExpected = this.#state.pending.settle(message, this.#typed);
        if (!isExpected) this.#state.log.debug({ id }, "ignored a reply that no call waits for");
      }
      return true;
    }
    if (message.jsonrpc === duplicateMember) return false;
    if (typeof method !== "string") return false;
    if (message.id !== undefined) return count === 1 && this.#acceptBytes(message);
    return receiveNotice(this.#state, this.#notices, method, message.params, text, count);
  }

  /** The peer asks whether it may send frames of bytes; false if that is for a method. */
  #acceptBytes({ jsonrpc, method, id, params }: Envelope): boolean {
    if (method !== "$/acceptsBytes" || jsonrpc !== "2.0") return false;
    if (typeof id !== "number" && typeof id !== "string") return false;
    const { loadBeside, log } = this.#state;
    if (loadBeside === undefined) return false;
    loadBeside().then(
      (beside) => beside.answer(id, params),
      (err: unknown) => log.error({ err }, "could not load code for attached bytes"),
    );
    return true;
  }

  /** False if the error is about a call. */
  #receiveConnectionError(message: Envelope, isFirst: boolean): boolean {
    if (isShutdownNotice(message)) this.#state.close(new NotTaken(), "done");
    else if (isFirst && isRejection(message)) this.#rejected(message);
    else return false;
    return true;
  }

  #rejected(message: Envelope): void {
    const error = replyOf(message)?.error;
    if (error !== undefined) {
      const refusal = RemoteError.from(error);
      this.#state.refusal = refusal;
      this.#state.pending.fail(refusal);
    }
    this.#state.close(new WireError("CLOSED", "the peer refused the connection"), "done");
  }

  #receiveBatch(entries: unknown[], text: string): void {
    const { length } = entries;
    const isCall = entries.map(
      (entry) => !(isEnvelope(entry) && this.#receiveOwn(entry, text, length)),
    );
    const calls = entries.filter((_, i) => isCall[i]);
    if (calls.length === 0 && entries.length > 0) return;
    // Batches this long were not checked for duplicate members, so none of their calls may run.
    if (length > this.#state.limits.maxBatch) {
      this.#answer(entries, text);
      return;
    }
    // An id that a double cannot hold is looked up in the JSON, which must hold the same entries.
    const rest = calls.length === entries.length ? text : keptEntries(text, isCall);
    this.#answer(calls, rest);
  }

  #answer(payload: unknown, text: string): void {
    const state = this.#state;
    if (text.length > state.limits.maxMessageBytes) {
      this.#strike(this.answerer.tooLarge(state.origin), "the message is too long");
      return;
    }
    const received = new ReceivedPayload(state, payload);
    const answer = this.answerer.answerPayload(payload, text, state.origin, received);
    if (answer instanceof Promise) state.backpressure.begun();
    else received.answered(answer);
  }

  #strike(answer: string | undefined, sentence: string): void {
    // A client without a service does not answer a broken message.
    if (this.#serves && answer !== undefined) this.#state.reply(answer);
    if (this.#strikes.add()) this.#cutOff(sentence);
  }

  #warn(fault: string): void {
    this.#state.warn({ fault }, "closed a connection whose peer does not send JSON-RPC");
  }

  #cutOff(sentence: string): void {
    if (!this.#state.isOpen) return;
    this.#warn(sentence);
    this.#state.close(
      new WireError("CONNECTION_LOST", "the peer does not send JSON-RPC"),
      "garbage",
    );
  }
}

/** A payload of the peer that is being answered. */
class ReceivedPayload implements AnswerReceiver {
  readonly #state: ConnectionState;
  readonly #payload: unknown;

  constructor(state: ConnectionState, payload: unknown) {
    this.#state = state;
    this.#payload = payload;
  }

  answered(text: string | undefined): void {
    if (text !== undefined) this.#state.reply(text);
    this.#state.beside?.answered(this.#payload);
  }
}

/** How long an unreadable message counts against the peer. */
const forgetMs = 60_000;

/** Counts unreadable messages. One is forgotten each minute, so that rare accidents do not add up. */
export class Strikes {
  readonly #max: number;
  readonly #clock: Clock;
  #count = 0;
  /** Start of the current decay interval. */
  #since = 0;

  constructor(max: number, clock: Clock) {
    this.#max = max;
    this.#clock = clock;
  }

  /** Whether the limit is reached. */
  add(): boolean {
    const now = this.#clock.elapsed();
    const forgotten = Math.min(this.#count, Math.floor(Math.max(0, now - this.#since) / forgetMs));
    this.#count -= forgotten;
    this.#since = this.#count === 0 ? now : this.#since + forgotten * forgetMs;
    this.#count++;
    return this.#count >= this.#max;
  }
}
