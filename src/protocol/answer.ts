import { BatchAnswer, batchFault, type EntryAnswerer } from "./batch-answer.ts";
import type { CallSettings } from "./call-settings.ts";
import { isEnvelope } from "./envelope.ts";
import type { Disclose, Handle } from "./handle.ts";
import { caught, LaterReply } from "./handler-reply.ts";
import { IncomingCall } from "./incoming-call.ts";
import { unparsable } from "./json-text.ts";
import { type AnswerReceiver, LaterAnswer, later } from "./later-answer.ts";
import type { MessageLimits } from "./limits.ts";
import { holdBytes } from "./memory-bounds.ts";
import {
  type ErrorObject,
  isThenable,
  type MaybePromise,
  type Reply,
  type Request,
} from "./message.ts";
import type { Origin } from "./origin.ts";
import { drainCalls } from "./origin-calls.ts";
import type { Overload } from "./overload.ts";
import {
  idTooLong,
  isUnsafe,
  isVersion1,
  limitFault,
  numberAsWritten,
  type Rules,
  requestFault,
  type Version,
} from "./parse.ts";
import { parsePayload } from "./payload.ts";
import { ReplyWriter } from "./reply-writer.ts";
import type { RunningCall, Writer } from "./running-call.ts";
import { idText } from "./serialize.ts";
import {
  callTooLarge,
  invalidRequest,
  limitExceeded,
  parseError,
  requestCancelled,
  serverBusy,
  shuttingDown,
} from "./standard-errors.ts";
import { detachRequest } from "./string-copy.ts";
import { WatchedMessage, type Watches } from "./watch.ts";

/** The JSON of a reply, or undefined if none is due. */
export type Answer = string | undefined | Promise<string | undefined>;

export interface AnswerSettings extends Rules, CallSettings {
  /** Refuses calls that arrive faster than they can run; undefined accepts them all. */
  readonly overload?: Overload | undefined;
  readonly disclose?: Disclose | undefined;
  /** Whether errors in 1.0 are strings. */
  readonly stringErrors?: boolean;
  /** Set if methods have limits of their own; those in `limits` admit the longest message of any. */
  readonly messageLimits?: MessageLimits | undefined;
}

const only1 = "this server accepts JSON-RPC 1.0 only";

/** Answers payloads with a Handle: string in, string out, and no promise unless a handler makes one. */
export class Answerer implements Writer, EntryAnswerer {
  readonly settings: AnswerSettings;
  readonly writer: ReplyWriter;
  readonly #handle: Handle;
  readonly #watch: Watches | undefined;
  readonly #overload: Overload | undefined;
  readonly #speaks1: boolean;
  readonly #speaks2: boolean;
  /** A payload shorter than this cannot nest too deep, because each level takes two brackets. */
  readonly #shallowLength: number;
  /** Up to here a message is not too long, whatever its method. */
  readonly #checkedFrom: number;
  /** Set while the server shuts down: new calls are refused, running ones finish. */
  draining = false;

  constructor(handle: Handle, settings: AnswerSettings) {
    this.#handle = handle;
    this.settings = settings;
    this.writer = new ReplyWriter(settings);
    this.#watch = settings.watch;
    this.#overload = settings.overload;
    this.#speaks1 = settings.versions.has("1.0");
    this.#speaks2 = settings.versions.has("2.0");
    this.#shallowLength = settings.limits.maxDepth * 2;
    this.#checkedFrom = settings.messageLimits?.least ?? Number.POSITIVE_INFINITY;
  }

  /** One for a connection that finishes: it refuses all calls. */
  refusing(): Answerer {
    const refusing = new Answerer(this.#handle, this.settings);
    refusing.draining = true;
    return refusing;
  }

  drain(origin: Origin, drainMs: number): Promise<void> {
    return drainCalls(this.settings.running, origin, drainMs);
  }

  /** With a receiver, an asynchronous reply goes to it, and the promise that is returned never settles. */
  answer(text: string, origin: Origin, receiver?: AnswerReceiver): Answer {
    if (text.length > this.settings.limits.maxMessageBytes) return this.tooLarge(origin);
    const payload = this.parse(text, this.settings.limits.maxBatch);
    return payload === unparsable
      ? this.unreadable(origin, undefined, text.length)
      : this.answerPayload(payload, text, origin, receiver);
  }

  /** Parses a payload, and marks calls in which a member occurs twice. */
  parse(text: string, maxBatch: number): unknown {
    return parsePayload(text, maxBatch);
  }

  /** For wires that already parsed the payload to distinguish calls from replies. */
  answerPayload(payload: unknown, text: string, origin: Origin, receiver?: AnswerReceiver): Answer {
    return Array.isArray(payload)
      ? this.#answerBatch(payload, text, origin, receiver)
      : this.answerMessage(payload, text, undefined, origin, receiver);
  }

  #answerBatch(
    entries: readonly unknown[],
    text: string,
    origin: Origin,
    receiver: AnswerReceiver | undefined,
  ): Answer {
    const { usual = Number.POSITIVE_INFINITY } = this.settings.messageLimits ?? {};
    const fault =
      text.length > usual
        ? limitExceeded("maxMessageBytes", usual)
        : batchFault(entries, this.settings, origin);
    return fault === undefined
      ? new BatchAnswer(this, entries, text, origin).answer(receiver)
      : this.#refusePayload(fault, origin, text.length);
  }

  /** The reply to a message that the wire rejected for its size; `origin` is its sender. */
  tooLarge(origin?: Origin): string {
    const error = limitExceeded("maxMessageBytes", this.settings.limits.maxMessageBytes);
    return this.#refusePayload(error, origin, 0);
  }

  /** The reply to bytes that are not a message; the reason is a sentence for their sender. */
  unreadable(origin?: Origin, reason?: string, length = 0): string {
    const error = reason === undefined ? parseError : { ...parseError, data: reason };
    return this.#refusePayload(error, origin, length);
  }

  /** Rejects a payload as a whole. */
  #refusePayload(error: ErrorObject, origin: Origin | undefined, length: number): string {
    const text = this.writer.unnamed(error);
    if (this.#watch !== undefined && origin !== undefined) {
      const watched = new WatchedMessage(this.#watch, undefined, origin, length, undefined);
      watched.error = error;
      watched.end(text);
    }
    return text;
  }

  answerMessage(
    message: unknown,
    text: string,
    batch: BatchAnswer | undefined,
    origin: Origin,
    receiver: AnswerReceiver | undefined,
  ): Answer {
    if (this.#watch === undefined)
      return this.#answerOne(message, text, batch, origin, receiver, undefined);
    const length = batch === undefined ? text.length : batch.length();
    const watched = new WatchedMessage(this.#watch, message, origin, length, batch?.entry);
    const answer = this.#answerOne(message, text, batch, origin, receiver, watched);
    // An asynchronous reply is reported when it is written.
    if (!(answer instanceof Promise)) watched.end(answer);
    return answer;
  }

  #answerOne(
    message: unknown,
    text: string,
    batch: BatchAnswer | undefined,
    origin: Origin,
    receiver: AnswerReceiver | undefined,
    watched: WatchedMessage | undefined,
  ): Answer {
    if (!isEnvelope(message)) {
      const error = invalidRequest("a request must be a JSON object");
      if (watched !== undefined) watched.error = error;
      return this.writer.unnamed(error);
    }
    const { limits, running } = this.settings;
    const mayBeDeep = text.length >= this.#shallowLength;
    const fault = requestFault(message, this.settings, mayBeDeep);
    if (fault !== undefined || !this.#speaks2) {
      if (!this.#speaks1 || !isVersion1(message)) {
        return this.writer.refusal(message, fault ?? only1, text, batch, origin, watched);
      }
      const excess = limitFault(message, limits, mayBeDeep);
      if (excess !== undefined)
        return this.writer.refusal(message, excess, text, batch, origin, watched);
    }
    const request = message as Request;
    const version = versionOf(request);
    const silent = version === "2.0" ? request.id === undefined : request.id === null;
    let id: string | undefined;
    if (isUnsafe(request.id)) {
      id = numberAsWritten(text, batch);
      if (id.length > limits.maxIdLength) {
        return this.writer.refusal(message, idTooLong(limits), text, batch, origin, watched);
      }
    } else if (!silent) id = idText(request.id);
    const refusal = this.draining
      ? shuttingDown
      : ((text.length > this.#checkedFrom ? this.#excess(request, text, batch) : undefined) ??
        (!running.hasRoomFor(origin, batch?.isHeld === true)
          ? serverBusy
          : batch?.isGivenUp(request.id)
            ? requestCancelled
            : this.#overload?.refusal(request, silent, origin)));
    if (refusal !== undefined) {
      if (id !== undefined) return this.writer.error(refusal, version, id, batch, origin, watched);
      batch?.refusal.add(refusal);
      if (watched !== undefined) watched.error = refusal;
      return undefined;
    }
    const context = new IncomingCall(request, origin, this.settings);
    if (watched !== undefined) watched.context = context;
    let reply: MaybePromise<Reply | undefined>;
    try {
      reply = this.#handle(request, context);
    } catch (thrown) {
      reply = caught(thrown, context);
    }
    if (isThenable(reply)) return this.#later(reply, context, text, id, batch, receiver, watched);
    const written = this.writer.reply(reply, context, version, id, batch, watched);
    return written instanceof Promise
      ? this.#later(written, context, text, id, batch, receiver, watched)
      : written;
  }

  /** The error of a message that is longer than its method accepts; a batch has been checked as a whole. */
  #excess(
    { method }: Request,
    { length }: string,
    batch: BatchAnswer | undefined,
  ): ErrorObject | undefined {
    const own = this.settings.messageLimits?.of(method);
    if (own === undefined || (batch === undefined ? length : batch.length()) <= own)
      return undefined;
    return callTooLarge("maxMessageBytes", own);
  }

  #later(
    pending: PromiseLike<Reply | undefined>,
    context: IncomingCall,
    text: string,
    id: string | undefined,
    batch: BatchAnswer | undefined,
    receiver: AnswerReceiver | undefined,
    watched: WatchedMessage | undefined,
  ): Promise<string | undefined> {
    const own = batch === undefined && receiver === undefined ? new LaterAnswer() : undefined;
    const to = batch?.entryReceiver() ?? receiver ?? (own as LaterAnswer);
    const call = context.wait(this, to);
    call.idText = context.origin.held === undefined ? id : detachRequest(context.request, id);
    call.batch = batch;
    call.watched = watched;
    if (batch === undefined || batch.begin()) {
      const bytes = holdBytes(text, this.settings.running.held, context.origin.held);
      if (call.share !== undefined) call.share.bytes += bytes;
      if (batch === undefined) call.heldBytes = bytes;
      else batch.heldBytes = bytes;
    }
    if (pending instanceof LaterReply) pending.settle(call);
    else settleWhenDone(pending, call);
    return own?.promise ?? later;
  }

  /** Writes the reply of an asynchronous call. */
  write(reply: Reply | undefined, call: RunningCall): string | undefined | Promise<Reply> {
    const { idText: id, batch, context, watched } = call;
    const version = versionOf(context.request);
    const text = this.writer.reply(reply, context, version, id, batch, watched);
    if (!(text instanceof Promise)) watched?.end(text);
    return text;
  }
}

function versionOf({ jsonrpc }: Request): Version {
  return jsonrpc === undefined ? "1.0" : "2.0";
}

/**
 * For middleware, which may return any thenable; separate, because its closures would capture the caller's variables.
 */
function settleWhenDone(pending: PromiseLike<Reply | undefined>, call: RunningCall): void {
  // A foreign thenable may break the rules, for example by throwing.
  Promise.resolve(pending).then(
    (reply) => call.settle(reply),
    (thrown) => call.settle(caught(thrown, call.context)),
  );
}
