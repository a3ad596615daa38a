import type { BatchAnswer } from "./batch-answer.ts";
import type { IncomingCall } from "./incoming-call.ts";
import type { AnswerReceiver } from "./later-answer.ts";
import { type ErrorObject, failure, type Reply } from "./message.ts";
import type { Principal } from "./origin.ts";
import type { CallEntry } from "./origin-calls.ts";
import type { TimedCall } from "./running.ts";
import { discardBytes } from "./sent-bytes.ts";
import type { Share } from "./shares.ts";
import { asError, requestCancelled, requestTimeout } from "./standard-errors.ts";
import type { WatchedMessage } from "./watch.ts";

/** Writes the reply of an asynchronous call. */
export interface Writer {
  /** A promise if its bytes have to be read first; it resolves with the reply that has them, and never rejects. */
  write(reply: Reply | undefined, call: RunningCall): string | undefined | Promise<Reply>;
}

/** What few calls need; apart, because the garbage of an asynchronous call takes as long to collect as the call. */
class CallExtras {
  limitMs: number | undefined = undefined;
  /** When it began, and when progress was last sent, on the scale of `dueAt`; set by the first report of progress. */
  progress: { readonly startMs: number; readonly lastMs: number } | undefined = undefined;
  isStream = false;
  /** Ends a subscription, with a result of its own or with this error. */
  unsubscribe: ((error: ErrorObject) => void) | undefined = undefined;
  controller: AbortController | undefined = undefined;
  onEnded: (() => void) | undefined = undefined;
  /** Memory that its params take besides its message. */
  heldBytes = 0;
}

/** The state of a call that outlives its turn: its reply, its signal, its place among the running calls. */
export class RunningCall implements TimedCall {
  readonly context: IncomingCall;
  prev: TimedCall | undefined;
  next: TimedCall | undefined;
  /** Its entry among the calls of its origin, if that list is kept. */
  entry: CallEntry | undefined;
  dueAt: number | undefined;
  epochOffset: number | undefined;
  principal: Principal | undefined;
  ended: ErrorObject | undefined;
  extras: CallExtras | undefined;
  /** How the reply is written and delivered; fields, because a closure costs more. */
  writer: Writer | undefined;
  receiver: AnswerReceiver | undefined;
  idText: string | undefined;
  batch: BatchAnswer | undefined;
  /** Memory counted for its message, unless that was a batch. */
  heldBytes: number;
  /** What its caller takes of the server's limits; undefined if the caller is unknown. */
  share: Share | undefined;
  watched: WatchedMessage | undefined;

  // Assigned here, because fields with initializers are slower to create.
  constructor(context: IncomingCall) {
    this.context = context;
    this.prev = undefined;
    this.next = undefined;
    this.entry = undefined;
    this.dueAt = undefined;
    this.epochOffset = undefined;
    this.principal = undefined;
    this.ended = undefined;
    this.extras = undefined;
    this.writer = undefined;
    this.receiver = undefined;
    this.idText = undefined;
    this.batch = undefined;
    this.heldBytes = 0;
    this.share = undefined;
    this.watched = undefined;
  }

  /** The handler is done. */
  settle(reply: Reply | undefined): void {
    const isEnded = this.ended !== undefined;
    if (isEnded) discardBytes(reply, this.context.request, this.context.values);
    const written = isEnded ? undefined : this.writer?.write(reply, this);
    if (written instanceof Promise) {
      void written.then((whole) => this.settle(whole));
      return;
    }
    this.context.done(this);
    const { receiver } = this;
    this.writer = undefined;
    this.receiver = undefined;
    if (!isEnded) receiver?.answered(written);
  }

  /** Created when first needed. */
  withExtras(): CallExtras {
    this.extras ??= new CallExtras();
    return this.extras;
  }

  get signal(): AbortSignal {
    const extras = this.withExtras();
    if (extras.controller === undefined) {
      extras.controller = new AbortController();
      if (this.ended !== undefined) extras.controller.abort(asError(this.ended));
    }
    return extras.controller.signal;
  }

  /** Answers with an error, before the handler is done. */
  end(error: ErrorObject): void {
    if (this.ended !== undefined) return;
    this.ended = error;
    const text = this.writer?.write(failure(error), this) as string | undefined;
    this.#stop(error, text);
  }

  /** The caller cancelled and expects no reply. */
  drop(): void {
    if (this.ended !== undefined) return;
    this.ended = requestCancelled;
    if (this.writer !== undefined) this.watched?.drop(requestCancelled);
    this.#stop(requestCancelled, undefined);
  }

  /** Aborts the handler first, so that it sends nothing after the reply. */
  #stop(error: ErrorObject, text: string | undefined): void {
    this.extras?.controller?.abort(asError(error));
    this.extras?.onEnded?.();
    this.receiver?.answered(text);
  }

  expire(): void {
    this.end(requestTimeout);
  }
}
