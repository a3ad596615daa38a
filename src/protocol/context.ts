import { deadlineOf } from "./clock.ts";
import type { Log } from "./log.ts";
import type { ErrorObject, Id, Params, Reply, Request } from "./message.ts";
import type { Origin, Peer, Principal, Transport } from "./origin.ts";
import { addCall } from "./origin-calls.ts";
import type { Running } from "./running.ts";
import { RunningCall } from "./running-call.ts";
import type { Watches } from "./watch.ts";

/** What a handler and every middleware know about a call beside its params. */
export interface Context {
  readonly id: Id | undefined;
  readonly method: string;
  /** Aborts when the caller cancels, its time is up, or the wire breaks. */
  readonly signal: AbortSignal;
  /**
   * When the call is ended, in milliseconds since the epoch as the clock is set when this is read;
   * progress moves it where its caller set it. Setting the clock does not change how long the call has.
   */
  readonly deadline: number | undefined;
  /** The other end; on a duplex wire it can be called back. */
  readonly peer: Peer;
  /** Who calls; set by authentication. */
  principal: Principal | undefined;
  readonly transport: Transport;
  readonly log: Log;
  /** Tells the caller how far the work is; dropped where the wire cannot carry it. */
  progress(value: unknown): void;
  /** Sends the caller a notification; false where the wire cannot carry one. */
  notify(method: string, params?: Params): boolean;
}

/** Writes the reply of a call that took its time. */
export interface Writer {
  write(reply: Reply | undefined, call: RunningCall): string | undefined;
}

/** What all calls of one server share. */
export interface CallSettings {
  readonly log: Log;
  readonly running: Running;
  /** The longest a call may take, whatever its caller says. */
  readonly timeoutMs: number | undefined;
  readonly watch?: Watches | undefined;
}

/**
 * One call being answered. Nearly every call ends within the turn that brought it, so this
 * object is kept at four fields; whatever a longer call needs is made when it is needed.
 */
export class CallContext implements Context {
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

  get log(): Log {
    return this.settings.log;
  }

  get watch(): Watches | undefined {
    return this.settings.watch;
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

  /** Why the call was answered before its handler was done. */
  get ended(): ErrorObject | undefined {
    return this.call?.ended;
  }

  /** Whether it has items to send before its reply, from when that begins. */
  get isStream(): boolean {
    return this.call?.isStream === true;
  }

  beginStream(): void {
    this.#running().isStream = true;
  }

  /** Runs when the call is ended before its handler is done; a hundredth of what a signal costs. */
  onEnded(run: () => void): void {
    this.#running().onEnded = run;
  }

  /** Longest run of this call, in place of the server's; set by the router. */
  limit(limitMs: number): void {
    const call = this.#running();
    const startMs = this.#startMs(call);
    call.limitMs = limitMs;
    // A middleware that awaited something, or read the deadline, had it set by the server's limit.
    if (startMs !== undefined) {
      call.dueAt = this.#dueFrom(startMs, call.heard?.lastMs ?? startMs);
    }
    if (call.writer !== undefined) this.settings.running.schedule(call, this.#timeoutMs());
  }

  /** The caller has heard of its call, so that the time it gives starts anew; the server's own does not. */
  heard(): void {
    if (this.#askedMs() === Number.POSITIVE_INFINITY) return;
    const call = this.#running();
    this.#setDue(call);
    const startMs = this.#startMs(call);
    if (startMs === undefined) return;
    // Never back: the call may be due a tick later than it had to be.
    const { clock } = this.settings.running;
    const lastMs = Math.max(call.heard?.lastMs ?? startMs, clock.elapsed());
    call.heard = { startMs, lastMs };
    call.dueAt = this.#dueFrom(startMs, lastMs);
  }

  progress(value: unknown): void {
    if (this.ended !== undefined || this.request.id === undefined) return;
    // Null, where the server takes it for no params.
    const params: unknown = this.request.params ?? undefined;
    const asked =
      params === undefined || Array.isArray(params)
        ? undefined
        : (params as { workDoneToken?: unknown }).workDoneToken;
    const token = typeof asked === "string" || typeof asked === "number" ? asked : this.request.id;
    if (this.origin.peer.notify("$/progress", { token, value })) this.heard();
  }

  notify(method: string, params?: Params): boolean {
    return this.origin.peer.notify(method, params);
  }

  /** The call goes on after this turn; its reply is written and resolves early, or when it lands. */
  wait(writer: Writer, resolve: (text: string | undefined) => void): RunningCall {
    const call = this.#running();
    call.writer = writer;
    call.resolve = resolve;
    this.settings.running.enter(call, this.#timeoutMs());
    this.origin.count(1, 0);
    if (this.origin.calls !== undefined) addCall(this.origin.calls, call);
    return call;
  }

  /** The handler is done. Until then the call counts as running, even if it was answered early. */
  done(call: RunningCall): void {
    this.settings.running.leave(call);
    this.origin.count(-1, 0);
    const bytes = call.batch === undefined ? call.heldBytes : call.batch.finish();
    if (bytes > 0) {
      this.settings.running.held.free(bytes);
      this.origin.held?.free(bytes);
    }
    if (call.entry !== undefined) this.origin.calls?.remove(call.entry);
  }

  #running(): RunningCall {
    this.call ??= new RunningCall(this);
    return this.call;
  }

  /** Its time counts from now on, unless it began before. */
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

  /** When the call began, as the end of its time tells; undefined while it has none. */
  #startMs(call: RunningCall): number | undefined {
    if (call.heard !== undefined || call.dueAt === undefined) return call.heard?.startMs;
    return call.dueAt - (this.#timeoutMs() ?? 0);
  }

  #dueFrom(startMs: number, heardMs: number): number | undefined {
    return finite(Math.min(startMs + this.#ownMs(), heardMs + this.#askedMs()));
  }
}

function finite(ms: number): number | undefined {
  return ms === Number.POSITIVE_INFINITY ? undefined : ms;
}
