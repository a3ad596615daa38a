import type { Attachments } from "./attachments.ts";
import type { BatchAnswer } from "./batch-answer.ts";
import type { CallSettings } from "./call-settings.ts";
import { deadlineOf } from "./clock.ts";
import type { CallContext } from "./context.ts";
import { asError, requestCancelled, requestTimeout } from "./errors.ts";
import type { AnswerReceiver } from "./later-answer.ts";
import type { Limits } from "./limits.ts";
import type { Log } from "./log.ts";
import { changeHeld } from "./memory-bounds.ts";
import {
  type ErrorObject,
  failure,
  type Id,
  type Params,
  type Reply,
  type Request,
} from "./message.ts";
import type { Origin, Peer, Principal, Transport } from "./origin.ts";
import { addCall, type CallEntry } from "./origin-calls.ts";
import type { Version } from "./parse.ts";
import type { TimedCall } from "./running.ts";
import { discardBytes } from "./sent-bytes.ts";
import type { Share } from "./shares.ts";
import { ValueCodec } from "./value-codec.ts";
import type { WatchedMessage, Watches } from "./watch.ts";

/** Writes the reply of an asynchronous call. */
export interface Writer {
  /** A promise if its bytes have to be read first; it resolves with the reply that has them, and never rejects. */
  write(reply: Reply | undefined, call: RunningCall): string | undefined | Promise<Reply>;
}

const builtInValues = new ValueCodec();

/**
 * One call being answered. Nearly every call ends within the turn that brought it, so this object has four fields
 * only; what an asynchronous call needs is created when it is needed.
 */
export class IncomingCall implements CallContext {
  readonly request: Request;
  readonly origin: Origin;
  private readonly settings: CallSettings;
  private call: RunningCall | undefined;

  constructor(request: Request, origin: Origin, settings: CallSettings) {
    this.request = request;
    this.origin = origin;
    this.settings = settings;
    this.call = undefined;
  }

  get id(): Id | undefined {
    return this.request.id;
  }

  get method(): string {
    return this.request.method;
  }

  get peer(): Peer {
    return this.origin.peer;
  }

  get transport(): Transport {
    return this.origin.transport;
  }

  get incoming(): this {
    return this;
  }

  get log(): Log {
    return this.settings.log;
  }

  get watch(): Watches | undefined {
    return this.settings.watch;
  }

  get limits(): Limits {
    return this.settings.limits;
  }

  get attachments(): Attachments | undefined {
    return this.origin.attachments?.(this.request.id);
  }

  get values(): ValueCodec {
    return this.settings.values ?? builtInValues;
  }

  get principal(): Principal | undefined {
    return this.call?.principal ?? this.origin.principal;
  }

  set principal(principal: Principal | undefined) {
    this.#running().principal = principal;
  }

  get deadline(): number | undefined {
    const call = this.#running();
    this.#setDue(call);
    return deadlineOf(call, this.settings.running.clock);
  }

  get signal(): AbortSignal {
    return this.#running().signal;
  }

  get ended(): ErrorObject | undefined {
    return this.call?.ended;
  }

  get isStream(): boolean {
    return this.call?.isStream === true;
  }

  beginStream(): void {
    this.#running().isStream = true;
  }

  subscribe(): void {
    this.#running().isSubscription = true;
  }

  onEnded(run: () => void): void {
    this.#running().onEnded = run;
  }

  limit(limitMs: number): void {
    const call = this.#running();
    const startMs = this.#startMs(call);
    call.limitMs = limitMs;
    // Middleware that awaited something, or read the deadline, has fixed it by the server's limit.
    if (startMs !== undefined) {
      call.dueAt = this.#dueFrom(startMs, call.progress?.lastMs ?? startMs);
    }
    if (call.writer !== undefined) this.settings.running.schedule(call, this.#timeoutMs());
  }

  progressSent(): void {
    if (this.#askedMs() === Number.POSITIVE_INFINITY) return;
    const call = this.#running();
    this.#setDue(call);
    const startMs = this.#startMs(call);
    if (startMs === undefined) return;
    // Never earlier: the call may be due a tick later than required.
    const { clock } = this.settings.running;
    const lastMs = Math.max(call.progress?.lastMs ?? startMs, clock.elapsed());
    call.progress = { startMs, lastMs };
    call.dueAt = this.#dueFrom(startMs, lastMs);
  }

  hold(bytes: number): boolean {
    return changeHeld(bytes, this.settings.running.held, this.origin.held);
  }

  progress(value: unknown): void {
    if (this.ended !== undefined || this.request.id === undefined) return;
    // Null, if the server accepts that as no params.
    const params: unknown = this.request.params ?? undefined;
    const asked =
      params === undefined || Array.isArray(params)
        ? undefined
        : (params as { workDoneToken?: unknown }).workDoneToken;
    const token = typeof asked === "string" || typeof asked === "number" ? asked : this.request.id;
    const report =
      this.request.types === undefined
        ? { token, value }
        : { token, ...this.values.members(value) };
    if (this.origin.peer.notify("$/progress", report)) this.progressSent();
  }

  notify(method: string, params?: Params): boolean {
    return this.origin.peer.notify(method, params);
  }

  /** The call outlives this turn; its reply is written when it settles or ends early. */
  wait(writer: Writer, receiver: AnswerReceiver): RunningCall {
    const call = this.#running();
    call.writer = writer;
    call.receiver = receiver;
    this.settings.running.enter(call, this.#timeoutMs());
    call.share = this.settings.running.share(this.origin);
    this.origin.count(1, 0);
    if (this.origin.calls !== undefined) addCall(this.origin.calls, call);
    return call;
  }

  /** The handler is done. Until then the call counts as running, even if it was answered early. */
  done(call: RunningCall): void {
    const { running } = this.settings;
    running.leave(call);
    this.origin.count(-1, 0);
    const bytes = call.batch === undefined ? call.heldBytes : call.batch.finish();
    running.release(call.share, bytes);
    if (bytes > 0) this.origin.held?.free(bytes);
    if (call.entry !== undefined) this.origin.calls?.remove(call.entry);
  }

  #running(): RunningCall {
    this.call ??= new RunningCall(this);
    return this.call;
  }

  /** Starts the timeout, unless it has started. */
  #setDue(call: RunningCall): void {
    const timeoutMs = call.dueAt === undefined ? this.#timeoutMs() : undefined;
    if (timeoutMs !== undefined) {
      call.dueAt = this.settings.running.clock.elapsed() + timeoutMs;
    }
  }

  #timeoutMs(): number | undefined {
    return finite(Math.min(this.#ownMs(), this.#askedMs()));
  }

  #ownMs(): number {
    return this.call?.limitMs ?? this.settings.timeoutMs ?? Number.POSITIVE_INFINITY;
  }

  #askedMs(): number {
    const asked = this.request.timeoutMs ?? this.origin.transport.timeoutMs;
    return typeof asked === "number" && asked >= 0 ? asked : Number.POSITIVE_INFINITY;
  }

  /** When the call began, derived from its deadline; undefined while it has none. */
  #startMs(call: RunningCall): number | undefined {
    if (call.progress !== undefined || call.dueAt === undefined) return call.progress?.startMs;
    return call.dueAt - (this.#timeoutMs() ?? 0);
  }

  #dueFrom(startMs: number, heardMs: number): number | undefined {
    return finite(Math.min(startMs + this.#ownMs(), heardMs + this.#askedMs()));
  }
}

function finite(ms: number): number | undefined {
  return ms === Number.POSITIVE_INFINITY ? undefined : ms;
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
  limitMs: number | undefined;
  /** When it began, and when progress was last sent, on the scale of `dueAt`; set by the first report of progress. */
  progress: { readonly startMs: number; readonly lastMs: number } | undefined;
  principal: Principal | undefined;
  isStream: boolean;
  isSubscription: boolean;
  ended: ErrorObject | undefined;
  controller: AbortController | undefined;
  onEnded: (() => void) | undefined;
  /** How the reply is written and delivered; fields, because a closure costs more. */
  writer: Writer | undefined;
  receiver: AnswerReceiver | undefined;
  version: Version;
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
    this.limitMs = undefined;
    this.progress = undefined;
    this.principal = undefined;
    this.isStream = false;
    this.isSubscription = false;
    this.ended = undefined;
    this.controller = undefined;
    this.onEnded = undefined;
    this.writer = undefined;
    this.receiver = undefined;
    this.version = "2.0";
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
    if (!isEnded) this.receiver?.answered(written);
    this.writer = undefined;
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.ended !== undefined) this.controller.abort(asError(this.ended));
    }
    return this.controller.signal;
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

  /** Tells the handler first, so that nothing which it still sends comes after the reply. */
  #stop(error: ErrorObject, text: string | undefined): void {
    this.controller?.abort(asError(error));
    this.onEnded?.();
    this.receiver?.answered(text);
  }

  expire(): void {
    this.end(requestTimeout);
  }
}
