import { caught } from "./caught.ts";
import { CallContext, type Life, type Surroundings, type Writer } from "./context.ts";
import {
  ErrorCode,
  internalError,
  invalidRequest,
  parseError,
  type RpcErrorOptions,
  serverBusy,
  shuttingDown,
} from "./errors.ts";
import type { Handle } from "./handle.ts";
import { LaterReply } from "./later-reply.ts";
import {
  type ErrorObject,
  isThenable,
  type MaybePromise,
  type Reply,
  type Request,
} from "./message.ts";
import type { Origin } from "./origin.ts";
import {
  BatchText,
  type Envelope,
  idTooLong,
  isEnvelope,
  limitFault,
  numberAsWritten,
  parsePayload,
  type Rules,
  requestFault,
  unparsable,
  type Version,
} from "./parse.ts";
import { errorText, idText, resultText, valueText } from "./serialize.ts";
import { isVersion1 } from "./version1.ts";
import { WatchedMessage, type Watches } from "./watch.ts";

/** The text of a reply, or undefined where nothing is to be sent. */
export type Answer = string | undefined | Promise<string | undefined>;

export interface AnswerSettings extends Rules, Surroundings {
  /** Most calls of all callers together that run at the same time. */
  readonly maxRunning: number;
}

const emptyBatch = invalidRequest("a batch holds at least one request");
const noBatches = invalidRequest("a payload holds one message; batches are not taken here");

/** Answers payloads with a Handle: text in, text out, with no promise unless a handler makes one. */
export class Answerer implements Writer {
  readonly #handle: Handle;
  readonly #settings: AnswerSettings;
  readonly #watch: Watches | undefined;
  readonly #speaks1: boolean;
  readonly #speaks2: boolean;
  /** A text shorter than this cannot nest too deep, since each level takes two brackets. */
  readonly #shallowLength: number;
  /** The id in replies to what has none that can be read. */
  readonly #noId: string | undefined;
  /** Set while the server stops: new calls are refused, running ones finish. */
  draining = false;

  constructor(handle: Handle, settings: AnswerSettings) {
    this.#handle = handle;
    this.#settings = settings;
    this.#watch = settings.watch;
    this.#speaks1 = settings.versions.has("1.0");
    this.#speaks2 = settings.versions.has("2.0");
    this.#shallowLength = settings.limits.maxDepth * 2;
    this.#noId = settings.profile?.nullIds === false ? undefined : "null";
  }

  answer(text: string, origin: Origin): Answer {
    if (text.length > this.#settings.limits.maxMessageBytes) return this.tooLarge(origin);
    const payload = parsePayload(text, this.#settings.limits.maxBatch);
    return payload === unparsable
      ? this.unreadable(origin, text.length)
      : this.answerPayload(payload, text, origin);
  }

  /** For wires that have parsed the text to tell calls from replies. */
  answerPayload(payload: unknown, text: string, origin: Origin): Answer {
    return Array.isArray(payload)
      ? this.#batch(payload, text, origin)
      : this.#one(payload, text, undefined, origin);
  }

  /** The reply to a message that the wire refused for its size; `origin` says who sent it. */
  tooLarge(origin?: Origin): string {
    const sentence = `a message holds at most ${this.#settings.limits.maxMessageBytes} bytes`;
    return this.#refusePayload(invalidRequest(sentence), origin, 0);
  }

  /** The reply to bytes that are no message at all. */
  unreadable(origin?: Origin, length = 0): string {
    return this.#refusePayload(parseError, origin, length);
  }

  /** The reply to a payload of which nothing was read. */
  #refusePayload(error: ErrorObject, origin: Origin | undefined, length: number): string {
    const text = errorText("2.0", this.#noId, error);
    if (this.#watch !== undefined && origin !== undefined) {
      const watched = new WatchedMessage(this.#watch, undefined, origin, length, undefined);
      watched.error = error;
      watched.end(text);
    }
    return text;
  }

  #one(message: unknown, text: string, batch: BatchText | undefined, origin: Origin): Answer {
    if (this.#watch === undefined) return this.#answerOne(message, text, batch, origin, undefined);
    const length = batch === undefined ? text.length : batch.length();
    const watched = new WatchedMessage(this.#watch, message, origin, length, batch?.entry);
    const answer = this.#answerOne(message, text, batch, origin, watched);
    // What takes its time is told of when it is written.
    if (!(answer instanceof Promise)) watched.end(answer);
    return answer;
  }

  #answerOne(
    message: unknown,
    text: string,
    batch: BatchText | undefined,
    origin: Origin,
    watched: WatchedMessage | undefined,
  ): Answer {
    if (!isEnvelope(message)) {
      const error = invalidRequest("a request is a JSON object");
      if (watched !== undefined) watched.error = error;
      return errorText("2.0", this.#noId, error);
    }
    const { limits, maxRunning, running } = this.#settings;
    const mayBeDeep = text.length >= this.#shallowLength;
    const fault = requestFault(message, this.#settings, mayBeDeep);
    if (fault !== undefined || !this.#speaks2) {
      if (!this.#speaks1 || !isVersion1(message)) {
        return this.#refuse(message, fault, text, batch, origin, watched);
      }
      const excess = limitFault(message, limits, mayBeDeep);
      if (excess !== undefined) return this.#refuse(message, excess, text, batch, origin, watched);
    }
    const request = message as Request;
    const version: Version = request.jsonrpc === undefined ? "1.0" : "2.0";
    const silent = version === "2.0" ? request.id === undefined : request.id === null;
    let id: string | undefined;
    if (isUnsafe(request.id)) {
      id = numberAsWritten(text, batch);
      if (id.length > limits.maxIdLength) {
        return this.#refuse(message, idTooLong(limits), text, batch, origin, watched);
      }
    } else if (!silent) id = idText(request.id);
    const refusal = this.draining
      ? shuttingDown
      : running.size >= maxRunning || origin.inFlight >= origin.maxInFlight
        ? serverBusy
        : undefined;
    if (refusal !== undefined) {
      if (id !== undefined) return this.#error(refusal, version, id, batch, origin, watched);
      if (watched !== undefined) watched.error = refusal;
      return undefined;
    }
    const context = new CallContext(request, origin, this.#settings);
    if (watched !== undefined) watched.context = context;
    let reply: MaybePromise<Reply | undefined>;
    try {
      reply = this.#handle(request, context);
    } catch (thrown) {
      reply = caught(thrown, context);
    }
    if (isThenable(reply)) return this.#later(reply, context, version, id, batch, watched);
    return this.#write(reply, context, version, id, batch, watched);
  }

  #later(
    pending: PromiseLike<Reply | undefined>,
    context: CallContext,
    version: Version,
    id: string | undefined,
    batch: BatchText | undefined,
    watched: WatchedMessage | undefined,
  ): Promise<string | undefined> {
    return new Promise((resolve) => {
      const life = context.wait(this, resolve);
      life.version = version;
      life.idText = id;
      life.batch = batch;
      life.watched = watched;
      if (pending instanceof LaterReply) pending.land(life);
      else {
        pending.then(
          (reply) => life.land(reply),
          (thrown) => life.land(caught(thrown, context)),
        );
      }
    });
  }

  /** The text that answers a call which took its time. */
  write(reply: Reply | undefined, life: Life): string | undefined {
    const { idText: id, version, batch, context, watched } = life;
    const text = this.#write(reply, context, version, id, batch, watched);
    watched?.end(text);
    return text;
  }

  #write(
    reply: Reply | undefined,
    context: CallContext,
    version: Version,
    id: string | undefined,
    batch: BatchText | undefined,
    watched: WatchedMessage | undefined,
  ): string | undefined {
    if (watched !== undefined) {
      watched.reply = reply;
      watched.error = reply?.error;
    }
    if (id === undefined) return undefined;
    if (reply === undefined) {
      context.log.error({ method: context.method, id: context.id }, "a middleware gave no reply");
      return this.#error(internalError, version, id, batch, context.origin, watched);
    }
    if (reply.error !== undefined) {
      return this.#error(reply.error, version, id, batch, context.origin, watched);
    }
    let result: string;
    try {
      result = valueText(reply.result);
    } catch (thrown) {
      context.log.error(
        { err: thrown, method: context.method, id: context.id },
        "result is not JSON",
      );
      return this.#error(internalError, version, id, batch, context.origin, watched);
    }
    if (result.length > this.#settings.limits.maxReplyLength) {
      return this.#error(this.#replyTooLarge(), version, id, batch, context.origin, watched);
    }
    return resultText(version, id, result);
  }

  #error(
    error: ErrorObject & RpcErrorOptions,
    version: Version,
    id: string,
    batch: BatchText | undefined,
    origin: Origin,
    watched: WatchedMessage | undefined,
  ): string {
    if (batch === undefined) origin.lastError = error;
    if (watched !== undefined) watched.error = error;
    const written = errorText(version, id, error);
    return written.length <= this.#settings.limits.maxReplyLength
      ? written
      : errorText(version, id, this.#replyTooLarge());
  }

  #replyTooLarge(): ErrorObject {
    return {
      code: ErrorCode.ReplyTooLarge,
      message: "Reply too large",
      data: `a reply holds at most ${this.#settings.limits.maxReplyLength} characters`,
    };
  }

  #refuse(
    message: Envelope,
    fault: string | undefined,
    text: string,
    batch: BatchText | undefined,
    origin: Origin,
    watched: WatchedMessage | undefined,
  ): string {
    const { id } = message;
    const { maxIdLength } = this.#settings.limits;
    let written = this.#noId;
    if (typeof id === "string" && id.length <= maxIdLength) written = idText(id);
    else if (typeof id === "number") {
      const digits = isUnsafe(id) ? numberAsWritten(text, batch) : idText(id);
      if (digits.length <= maxIdLength) written = digits;
    }
    const error = invalidRequest(fault ?? "this server speaks JSON-RPC 1.0 only");
    if (watched !== undefined) watched.error = error;
    if (batch === undefined) origin.lastError = error;
    return errorText("2.0", written, error);
  }

  #batch(entries: readonly unknown[], text: string, origin: Origin): Answer {
    const { maxBatch, maxReplyLength } = this.#settings.limits;
    if (this.#settings.profile?.batches(origin) === false) {
      return this.#refusePayload(noBatches, origin, text.length);
    }
    if (entries.length === 0) return this.#refusePayload(emptyBatch, origin, text.length);
    if (entries.length > maxBatch) {
      const error = invalidRequest(`a batch holds at most ${maxBatch} requests`);
      return this.#refusePayload(error, origin, text.length);
    }
    const batch = new BatchText(text);
    let replies = "";
    for (let i = 0; i < entries.length; i++) {
      batch.entry = i;
      const reply = this.#one(entries[i], text, batch, origin);
      if (reply instanceof Promise)
        return this.#batchLater(entries, text, batch, origin, replies, reply);
      if (reply !== undefined) replies = replies === "" ? reply : `${replies},${reply}`;
      if (replies.length > maxReplyLength)
        return errorText("2.0", this.#noId, this.#replyTooLarge());
    }
    return replies === "" ? undefined : `[${replies}]`;
  }

  /** Goes on with a batch once an entry needs time; the others start meanwhile, up to the limit. */
  async #batchLater(
    entries: readonly unknown[],
    text: string,
    batch: BatchText,
    origin: Origin,
    head: string,
    first: Promise<string | undefined>,
  ): Promise<string | undefined> {
    const { maxBatchConcurrency, maxReplyLength } = this.#settings.limits;
    const from = batch.entry;
    const tail: (string | undefined)[] = [];
    let open = 0;
    let length = head.length;
    let wake: (() => void) | undefined;
    const keep = (written: string | undefined, place: number): void => {
      length += written === undefined ? 0 : written.length + 1;
      // What is too long as a whole is not kept while the rest comes in.
      if (length <= maxReplyLength) tail[place] = written;
      else tail.length = 0;
    };
    const track = (reply: Promise<string | undefined>, place: number): void => {
      open++;
      void reply.then((written) => {
        keep(written, place);
        open--;
        wake?.();
      });
    };
    const change = () => new Promise<void>((resolve) => (wake = resolve));
    track(first, 0);
    for (let i = from + 1; i < entries.length; i++) {
      while (open >= maxBatchConcurrency) {
        this.#watch?.queue(entries.length - i);
        await change();
        this.#watch?.queue(i - entries.length);
      }
      if (origin.aborted) return undefined;
      batch.entry = i;
      const reply = this.#one(entries[i], text, batch, origin);
      if (reply instanceof Promise) track(reply, i - from);
      else keep(reply, i - from);
    }
    while (open > 0) await change();
    if (length > maxReplyLength) return errorText("2.0", this.#noId, this.#replyTooLarge());
    let replies = head;
    for (const reply of tail) {
      if (reply !== undefined) replies = replies === "" ? reply : `${replies},${reply}`;
    }
    return replies === "" ? undefined : `[${replies}]`;
  }
}

/** A number that a double cannot hold is echoed as it was written. */
function isUnsafe(id: unknown): boolean {
  return typeof id === "number" && !Number.isSafeInteger(id);
}
