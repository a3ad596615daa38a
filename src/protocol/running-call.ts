import type { BatchAnswer } from "./batch-answer.ts";
import type { CallContext, Writer } from "./context.ts";
import { RpcError, requestCancelled, requestTimeout } from "./errors.ts";
import { type ErrorObject, failure, type Reply } from "./message.ts";
import type { Principal } from "./origin.ts";
import type { CallEntry } from "./origin-calls.ts";
import type { Version } from "./parse.ts";
import type { TimedCall } from "./running.ts";
import type { WatchedMessage } from "./watch.ts";

/** The part of a call that only some need: its end, its signal, its place among the running. */
export class RunningCall implements TimedCall {
  readonly context: CallContext;
  prev: TimedCall | undefined;
  next: TimedCall | undefined;
  /** Its place among the calls of its origin, where somebody asks for these. */
  entry: CallEntry | undefined;
  dueAt: number | undefined;
  epochOffset: number | undefined;
  limitMs: number | undefined;
  /** When it began, and when its caller last heard of it, by the same measure as `dueAt`; set by the first report of progress. */
  heard: { readonly startMs: number; readonly lastMs: number } | undefined;
  principal: Principal | undefined;
  isStream: boolean;
  ended: ErrorObject | undefined;
  controller: AbortController | undefined;
  onEnded: (() => void) | undefined;
  /** What writes the reply, to whom, and as what; fields, because a closure costs more. */
  writer: Writer | undefined;
  resolve: ((text: string | undefined) => void) | undefined;
  version: Version;
  idText: string | undefined;
  batch: BatchAnswer | undefined;
  /** Counted for the message that brought it, unless that was a batch. */
  heldBytes: number;
  watched: WatchedMessage | undefined;

  // Assigned here, since fields with initial values take longer to make.
  constructor(context: CallContext) {
    this.context = context;
    this.prev = undefined;
    this.next = undefined;
    this.entry = undefined;
    this.dueAt = undefined;
    this.epochOffset = undefined;
    this.limitMs = undefined;
    this.heard = undefined;
    this.principal = undefined;
    this.isStream = false;
    this.ended = undefined;
    this.controller = undefined;
    this.onEnded = undefined;
    this.writer = undefined;
    this.resolve = undefined;
    this.version = "2.0";
    this.idText = undefined;
    this.batch = undefined;
    this.heldBytes = 0;
    this.watched = undefined;
  }

  /** The handler is done. */
  settle(reply: Reply | undefined): void {
    this.context.done(this);
    if (this.ended === undefined) this.#answer(reply);
    this.writer = undefined;
  }

  #answer(reply: Reply | undefined): void {
    if (this.writer !== undefined) this.resolve?.(this.writer.write(reply, this));
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.ended !== undefined) this.controller.abort(reasonOf(this.ended));
    }
    return this.controller.signal;
  }

  end(error: ErrorObject): void {
    if (this.ended !== undefined) return;
    this.ended = error;
    this.#answer(failure(error));
    this.controller?.abort(reasonOf(error));
    this.onEnded?.();
  }

  /** Nobody waits for the reply, and none is sent. */
  drop(): void {
    if (this.ended !== undefined) return;
    this.ended = requestCancelled;
    if (this.writer !== undefined) {
      this.watched?.drop(requestCancelled);
      this.resolve?.(undefined);
    }
    this.controller?.abort(reasonOf(requestCancelled));
    this.onEnded?.();
  }

  expire(): void {
    this.end(requestTimeout);
  }
}

function reasonOf(error: ErrorObject): Error {
  return error instanceof Error ? error : new RpcError(error.code, error.message, error.data);
}
