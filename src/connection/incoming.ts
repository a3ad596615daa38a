import type { Answerer } from "../protocol/answer.ts";
import { doneWithin } from "../protocol/clock.ts";
import { doubled } from "../protocol/doubled.ts";
import {
  ErrorCode,
  internalError,
  RemoteError,
  serverBusy,
  WireError,
} from "../protocol/errors.ts";
import { isRefusal } from "../protocol/handle.ts";
import { keptEntries } from "../protocol/json-text.ts";
import type { ErrorObject } from "../protocol/message.ts";
import { replyOf } from "../protocol/pair.ts";
import { type Envelope, isEnvelope, parsePayload, unparsable } from "../protocol/parse.ts";
import { errorText, idText } from "../protocol/serialize.ts";
import { Admission, type Verdict } from "./admission.ts";
import { receiveNotice } from "./call-notices.ts";
import type { ChannelFault, ChannelListener } from "./channel.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import type { Line } from "./line.ts";
import type { Notices } from "./notices.ts";
import { isRejection, isShutdownNotice, NotTaken } from "./shutdown-notice.ts";
import { Strikes } from "./strikes.ts";

const httpRequestLine = /^[A-Z]+ \S+ HTTP\/\d/;

/** What the other end sends: replies to calls of this end, notices about calls, and calls to answer. */
export class Incoming implements ChannelListener {
  /** Answers the calls; another one takes its place when the connection finishes. */
  answerer: Answerer;
  readonly #line: Line;
  readonly #serves: boolean;
  readonly #strikes: Strikes;
  readonly #notices: Notices | undefined;
  #admission: Admission | undefined;
  /** Whether the next reply is the first word of an end that speaks for itself: one that signs may be spoken for. */
  #isFirstWord: boolean;

  constructor(line: Line, answerer: Answerer, options: ConnectionOptions) {
    this.#line = line;
    this.answerer = answerer;
    this.#serves = options.service !== undefined;
    this.#strikes = new Strikes(options.maxStrikes ?? 10, line.running.clock);
    this.#notices = options.notices;
    const isSealed = (options.seal ?? options.service?.seal) !== undefined;
    this.#isFirstWord = !isSealed && options.notices === undefined;
  }

  /** Asks the service who the other end is, unless the wire has; what comes meanwhile is held. */
  admit({ service, transport, verdict }: ConnectionOptions): void {
    if (verdict !== undefined) this.#decide(verdict.value, []);
    else if (service?.admit !== undefined) {
      this.#admission = new Admission(service.admit, transport, (said, held) => {
        this.#line.resume();
        this.#decide(said, held);
      });
      if (this.#admission.isOpen) this.#line.pause();
    }
  }

  /** Waits until it is known who the other end is, but not for ever. */
  async decided(atMostMs: number): Promise<void> {
    const decided = this.#admission?.isOpen ? this.#admission.decided : undefined;
    if (decided !== undefined) await doneWithin(this.#line.running.clock, atMostMs, decided);
  }

  message(text: string): void {
    const line = this.#line;
    if (!line.isOpen) return;
    if (this.#admission?.isOpen) {
      if (!this.#admission.hold(text, line.limits.maxBufferedBytes)) this.#refuse(serverBusy);
      return;
    }
    line.tap?.(text, "received");
    const { maxBatch, maxMessageBytes, maxReplyLength } = line.limits;
    // A reply may be longer than a call, and comes only while a call is open.
    const longest =
      line.pending.size === 0 ? maxMessageBytes : Math.max(maxMessageBytes, maxReplyLength);
    if (text.length > longest) {
      this.fault({ kind: "oversize", message: "the message is too long" });
      return;
    }
    const payload = parsePayload(text, maxBatch);
    if (payload === unparsable) {
      this.fault({ kind: "unreadable", message: "the message is not JSON" });
      // A web page can make a browser send its request to this port, with calls in the body.
      if (httpRequestLine.test(text)) this.#cutOff("it sends HTTP");
      return;
    }
    line.received++;
    if (Array.isArray(payload)) {
      this.#receiveBatch(payload, text);
    } else if (!isEnvelope(payload) || !this.#receiveOwn(payload, text.length)) {
      this.#answer(payload, text);
    }
  }

  fault(fault: ChannelFault): void {
    if (!this.#line.isOpen) return;
    if (fault.kind === "oversize") {
      // It may have been the reply to any open call, and none may wait for ever.
      this.#line.pending.failUnnamed(
        new WireError("TOO_LARGE", "the reply is longer than this end accepts"),
      );
      this.#strike(this.answerer.tooLarge(this.#line.origin), fault.message);
    } else if (fault.kind === "refused") this.#refused(fault);
    else this.#strike(this.answerer.unreadable(this.#line.origin), fault.message);
  }

  /** A refused call is answered; whatever else was refused may have been the reply to any open call. */
  #refused({ error = internalError, call, message }: ChannelFault): void {
    if (call === undefined) {
      if (this.#line.pending.size > 0)
        this.#line.pending.failUnnamed(new WireError("BAD_REPLY", message));
      this.#strike(errorText("2.0", "null", error), message);
      return;
    }
    const { id } = call;
    const named = typeof id === "string" || typeof id === "number" ? idText(id) : "null";
    this.#strike(id === undefined ? undefined : errorText("2.0", named, error), message);
  }

  arriving(bytes: number): void {
    this.#line.running.buffers.moved(bytes);
  }

  drain(): void {
    this.#line.drain();
  }

  end(error?: Error): void {
    this.#line.end(error);
  }

  #decide(verdict: Verdict, held: readonly string[]): void {
    const said = this.#line.origin.principal;
    if (isRefusal(verdict)) this.#refuse(verdict);
    else if (said !== undefined && verdict !== undefined && said.id !== verdict.id) {
      // A message that was signed said it before, and otherwise.
      this.#refuse({ code: ErrorCode.Unauthenticated, message: "Unauthenticated" });
    } else {
      if (verdict !== undefined) this.#line.origin.principal = verdict;
      for (const text of held) this.message(text);
    }
  }

  #refuse(error: ErrorObject): void {
    this.#line.write(errorText("2.0", "null", error));
    this.#line.close(new WireError("CLOSED", "the other end was refused"), "refused");
  }

  /** Replies of ours, and notifications that belong to calls rather than to methods. */
  #receiveOwn(message: Envelope, length: number): boolean {
    const { method } = message;
    if (method === undefined) {
      const { result, error } = message as { result?: unknown; error?: unknown };
      if (result === undefined && error === undefined) {
        // An end that only calls expects replies; answering what is none, it would start a quarrel.
        if (!this.#serves) this.#line.log.debug({}, "a message that is neither a call nor a reply");
        return !this.#serves;
      }
      const isFirstWord = this.#isFirstWord;
      this.#isFirstWord = false;
      if (isShutdownNotice(message)) this.#line.close(new NotTaken(), "done");
      else if (isFirstWord && isRejection(message)) this.#turnedAway(message);
      else if (!this.#line.pending.settle(message))
        this.#line.log.debug({ id: message.id }, "a reply nobody waits for");
      return true;
    }
    if (message.jsonrpc === doubled) return false;
    if (message.id !== undefined || typeof method !== "string") return false;
    return receiveNotice(this.#line, this.#notices, method, message.params, length);
  }

  #turnedAway(message: Envelope): void {
    const error = replyOf(message)?.error;
    if (error !== undefined) this.#line.pending.fail(RemoteError.from(error));
    this.#line.close(new WireError("CLOSED", "the other end lets nobody in"), "done");
  }

  #receiveBatch(entries: unknown[], text: string): void {
    const length = text.length / entries.length;
    const isCall = entries.map((entry) => !(isEnvelope(entry) && this.#receiveOwn(entry, length)));
    const calls = entries.filter((_, i) => isCall[i]);
    if (calls.length === 0 && entries.length > 0) return;
    // An id that a double cannot hold is looked up in the text, which must then hold the same entries.
    const rest = calls.length === entries.length ? text : keptEntries(text, isCall);
    this.#answer(calls, rest);
  }

  #answer(payload: unknown, text: string): void {
    const line = this.#line;
    if (text.length > line.limits.maxMessageBytes) {
      this.#strike(this.answerer.tooLarge(line.origin), "the message is too long");
      return;
    }
    const answer = this.answerer.answerPayload(payload, text, line.origin);
    if (typeof answer === "string") line.reply(answer);
    else if (answer !== undefined) {
      void answer.then((reply) => {
        if (reply !== undefined) line.reply(reply);
      });
      line.pacing.begun();
    }
  }

  #strike(answer: string | undefined, sentence: string): void {
    // An end that only calls expects replies, and would answer a broken one with another message.
    if (this.#serves && answer !== undefined) this.#line.reply(answer);
    if (this.#strikes.add()) this.#cutOff(sentence);
  }

  #cutOff(sentence: string): void {
    if (!this.#line.isOpen) return;
    this.#line.log.warn({ fault: sentence }, "closing a connection that sends no JSON-RPC");
    this.#line.close(
      new WireError("CONNECTION_LOST", "the other end sends no JSON-RPC"),
      "garbage",
    );
  }
}
