import { type Attachments, attachedIn, bytesInside, inlined } from "./attachments.ts";
import type { CallContext } from "./context.ts";
import type { Envelope } from "./envelope.ts";
import type { RpcErrorOptions } from "./errors.ts";
import type { Disclose } from "./handle.ts";
import { loggedFault } from "./handler-reply.ts";
import type { Limits } from "./limits.ts";
import type { Log } from "./log.ts";
import { type ErrorObject, failure, type Reply } from "./message.ts";
import type { Origin } from "./origin.ts";
import { type BatchText, isUnsafe, numberAsWritten, type Profile, type Version } from "./parse.ts";
import {
  type DataLost,
  errorText,
  resultText,
  returnedText,
  stringErrorText,
  typedText,
} from "./reply-text.ts";
import { idText } from "./serialize.ts";
import { asError, busyWith, invalidRequest, replyTooLarge } from "./standard-errors.ts";
import { TypedJson } from "./value-codec.ts";
import type { WatchedMessage } from "./watch.ts";

const tooMuch: ErrorObject = /* @__PURE__ */ busyWith("the bytes of results take too much memory");

export interface WriterSettings {
  readonly limits: Limits;
  readonly disclose?: Disclose | undefined;
  readonly log: Log;
  /** Whether errors in 1.0 are strings. */
  readonly stringErrors?: boolean;
  readonly profile?: Profile | undefined;
}

/** How every 2.0 response with a result begins, and no error does. */
const resultStart = '{"jsonrpc":"2.0","result":';

/** Serializes replies, within the limits. */
export class ReplyWriter {
  readonly #limits: Limits;
  readonly #stringErrors: boolean;
  /** The id in replies to messages without a readable id. */
  readonly #noId: string | undefined;
  readonly #profile: Profile | undefined;
  readonly #disclose: Disclose | undefined;
  readonly #log: Log;

  constructor(settings: WriterSettings) {
    const { profile } = settings;
    this.#noId = profile?.nullIds === false ? undefined : "null";
    this.#profile = profile;
    this.#disclose = settings.disclose;
    this.#limits = settings.limits;
    this.#stringErrors = settings.stringErrors === true;
    this.#log = settings.log;
  }

  /**
   * Serializes the outcome of a handler; returns undefined for a notification. If it has bytes that the wire cannot
   * carry beside the message, returns a promise of a reply that has them inside.
   */
  reply(
    reply: Reply | undefined,
    context: CallContext,
    version: Version,
    id: string | undefined,
    batch: BatchText | undefined,
    watched: WatchedMessage | undefined,
  ): string | undefined | Promise<Reply> {
    if (watched !== undefined) {
      watched.reply = reply;
      watched.error = reply?.error;
    }
    if (id === undefined) {
      if (reply?.error !== undefined) batch?.refusal.add(reply.error);
      return undefined;
    }
    if (reply === undefined) {
      const error = this.#fault(
        new TypeError("middleware returned no reply"),
        context,
        "middleware returned no reply",
      );
      return this.error(error, version, id, batch, context.origin, watched);
    }
    if (reply.error !== undefined) {
      const data =
        context.request.types === undefined ? undefined : this.#typedData(reply, context);
      return this.error(reply.error, version, id, batch, context.origin, watched, data);
    }
    if (context.origin.dropsResults) return resultText(version, id, "null");
    if (context.request.types !== undefined) {
      return this.#typedResult(reply, context, version, id, batch, watched);
    }
    return this.#result(reply.result, context, version, id, batch, watched);
  }

  #result(
    value: unknown,
    context: CallContext,
    version: Version,
    id: string,
    batch: BatchText | undefined,
    watched: WatchedMessage | undefined,
  ): string {
    let result: string;
    try {
      result = returnedText(value);
    } catch (thrown) {
      const error = this.#fault(thrown, context, "the result cannot be serialized as JSON");
      return this.error(error, version, id, batch, context.origin, watched);
    }
    if (result.length > this.#limits.maxReplyLength) {
      return this.error(this.#replyTooLarge(), version, id, batch, context.origin, watched);
    }
    return resultText(version, id, result);
  }

  /** The same for a caller that accepts rich values. */
  #typedResult(
    reply: Reply,
    context: CallContext,
    version: Version,
    id: string,
    batch: BatchText | undefined,
    watched: WatchedMessage | undefined,
  ): string | Promise<Reply> {
    let typed: TypedJson | undefined;
    const { attach } = context.origin;
    try {
      typed = typedJson(reply, reply.result, context, attach !== undefined && batch === undefined);
    } catch (thrown) {
      const error = this.#fault(thrown, context, "the result cannot be serialized as JSON");
      return this.error(error, version, id, batch, context.origin, watched);
    }
    const value = typed === undefined ? reply.result : typed.value;
    const text = this.#result(value, context, version, id, batch, watched);
    // An error in its place has no types.
    if (typed === undefined || !text.startsWith(resultStart)) {
      typed?.attachments?.discard();
      return text;
    }
    const { attachments } = typed;
    const written = this.#typedText(text, typed, version, id);
    if (attachments === undefined) return written;
    if (!written.startsWith(resultStart)) {
      attachments.discard();
      return written;
    }
    const attached = attachedIn(typed.value, typed.types);
    const isAttached =
      batch === undefined && attach?.({ id: context.id, attached, attachments }) === true;
    return isAttached ? written : this.#whole(typed, attachments, context);
  }

  /** The reply with all its bytes inside; never rejects. */
  async #whole(
    { value, types }: TypedJson,
    attachments: Attachments,
    context: CallContext,
  ): Promise<Reply> {
    const most = bytesInside(this.#limits.maxReplyLength);
    const busy = asError(tooMuch);
    try {
      const result = await inlined(value, types, attachments, most, context.signal, (bytes) =>
        context.holdToEnd(2 * bytes) ? undefined : busy,
      );
      return { result, error: undefined, types };
    } catch (thrown) {
      if (thrown === busy) return failure(tooMuch);
      if (thrown instanceof RangeError) return failure(this.#replyTooLarge());
      return failure(this.#fault(thrown, context, "the bytes of a result could not be read"));
    }
  }

  /** The data of an error that cannot be converted is sent without types if it can be written as JSON. */
  #typedData(reply: Reply, context: CallContext): TypedJson | undefined {
    const data = reply.error?.data;
    try {
      const typed = data === undefined ? undefined : typedJson(reply, data, context);
      if (typed?.attachments === undefined) return typed;
      throw new TypeError("a Blob or a stream cannot be sent here");
    } catch (thrown) {
      this.#log.warn({ err: thrown }, "could not convert the rich values in the data of an error");
      return undefined;
    }
  }

  #typedText(text: string, { types }: TypedJson, version: Version, id: string): string {
    const typed = typedText(text, types);
    return typed.length <= this.#limits.maxReplyLength
      ? typed
      : this.#errorText(version, id, this.#replyTooLarge());
  }

  /** Applies `disclose` to a fault that arose after all middleware. */
  #fault(thrown: unknown, context: CallContext, sentence: string): ErrorObject {
    const fault = loggedFault(thrown, context, sentence);
    try {
      return this.#disclose?.(fault, context) ?? fault;
    } catch (failed) {
      return loggedFault(failed, context, "a disclose function threw");
    }
  }

  error(
    error: ErrorObject & RpcErrorOptions,
    version: Version,
    id: string,
    batch: BatchText | undefined,
    origin: Origin,
    watched: WatchedMessage | undefined,
    data?: TypedJson,
  ): string {
    if (batch === undefined) origin.lastError = error;
    else batch.refusal.add(error);
    if (watched !== undefined) watched.error = error;
    const { code, message } = error;
    const sent = data === undefined ? error : { code, message, data: data.value };
    const written = this.#errorText(version, id, sent, (thrown) => {
      this.#log.warn(
        { err: thrown, code },
        "dropped the data of an error that cannot be serialized as JSON",
      );
    });
    if (data !== undefined) return this.#typedText(written, data, version, id);
    return written.length <= this.#limits.maxReplyLength
      ? written
      : this.#errorText(version, id, this.#replyTooLarge());
  }

  #errorText(
    version: Version,
    id: string | undefined,
    error: ErrorObject,
    lost?: DataLost,
  ): string {
    const sent = this.#profile?.sentError?.(error) ?? error;
    return version === "1.0" && this.#stringErrors && id !== undefined
      ? stringErrorText(id, sent, lost)
      : errorText(version, id, sent, lost);
  }

  /** Rejects a message that is not a request, under its id if that can be read. */
  refusal(
    message: Envelope,
    fault: string,
    text: string,
    batch: BatchText | undefined,
    origin: Origin,
    watched: WatchedMessage | undefined,
  ): string {
    const { id } = message;
    const { maxIdLength } = this.#limits;
    let written = this.#noId;
    if (typeof id === "string" && id.length <= maxIdLength) written = idText(id);
    else if (typeof id === "number") {
      const digits = isUnsafe(id) ? numberAsWritten(text, batch) : idText(id);
      if (digits.length <= maxIdLength) written = digits;
    }
    const error = invalidRequest(fault);
    if (watched !== undefined) watched.error = error;
    if (batch === undefined) origin.lastError = error;
    return this.#errorText("2.0", written, error);
  }

  /** An error that does not belong to a call. */
  unnamed(error: ErrorObject): string {
    return this.#errorText("2.0", this.#noId, error);
  }

  /** Replaces the replies to a batch that are too long together. */
  batchTooLarge(): string {
    return this.unnamed(this.#replyTooLarge());
  }

  #replyTooLarge(): ErrorObject {
    return replyTooLarge(this.#limits.maxReplyLength);
  }
}

/** The JSON form of a value of a reply; undefined unless it has rich values. */
function typedJson(
  { types, attachments }: Reply,
  value: unknown,
  { values }: CallContext,
  attaches = false,
): TypedJson | undefined {
  return types === undefined
    ? values.encode(value, attaches)
    : new TypedJson(value, types, attachments);
}
