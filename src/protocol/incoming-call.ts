import type { Attachments } from "./attachments.ts";
import type { CallSettings } from "./call-settings.ts";
import type { CallContext } from "./context.ts";
import { deadlineOf } from "./deadline.ts";
import { itemMembers } from "./item-members.ts";
import type { AnswerReceiver } from "./later-answer.ts";
import type { Limits } from "./limits.ts";
import type { Log } from "./log.ts";
import { changeHeld } from "./memory-bounds.ts";
import type { ErrorObject, Id, Params, Request } from "./message.ts";
import type { Origin, Peer, Principal, Transport } from "./origin.ts";
import { addCall } from "./origin-calls.ts";
import { RunningCall, type Writer } from "./running-call.ts";
import { ValueCodec } from "./value-codec.ts";
import type { Watches } from "./watch.ts";

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
    return this.call?.extras?.isStream === true;
  }

  beginStream(): void {
    this.#running().withExtras().isStream = true;
  }

  subscribe(unsubscribe?: () => void): void {
    const call = this.#running();
    call.withExtras().unsubscribe = unsubscribe ?? ((error) => call.end(error));
  }

  onEnded(run: () => void): void {
    const extras = this.#running().withExtras();
    const before = extras.onEnded;
    extras.onEnded =
      before === undefined
        ? run
        : () => {
            before();
            run();
          };
  }

  limit(limitMs: number): void {
    const call = this.#running();
    const startMs = this.#startMs(call);
    call.withExtras().limitMs = limitMs;
    // Middleware that awaited something, or read the deadline, has fixed it by the server's limit.
    if (startMs !== undefined) {
      call.dueAt = this.#dueFrom(startMs, call.extras?.progress?.lastMs ?? startMs);
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
    const lastMs = Math.max(call.extras?.progress?.lastMs ?? startMs, clock.elapsed());
    call.withExtras().progress = { startMs, lastMs };
    call.dueAt = this.#dueFrom(startMs, lastMs);
  }

  hold(bytes: number): boolean {
    const { running } = this.settings;
    const share = this.call?.share;
    if (share !== undefined) share.bytes += bytes;
    const hasRoom = changeHeld(bytes, running.held, this.origin.held);
    return hasRoom && !running.isCrowdedBy(this.origin);
  }

  holdToEnd(bytes: number): boolean {
    this.#running().withExtras().heldBytes += bytes;
    return this.hold(bytes);
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
        : { token, ...itemMembers(this.values, value) };
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
    const message = call.batch === undefined ? call.heldBytes : call.batch.finish();
    const bytes = message + (call.extras?.heldBytes ?? 0);
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
    return this.call?.extras?.limitMs ?? this.settings.timeoutMs ?? Number.POSITIVE_INFINITY;
  }

  #askedMs(): number {
    const asked = this.request.timeoutMs ?? this.origin.transport.timeoutMs;
    return typeof asked === "number" && asked >= 0 ? asked : Number.POSITIVE_INFINITY;
  }

  /** When the call began, derived from its deadline; undefined while it has none. */
  #startMs(call: RunningCall): number | undefined {
    const progress = call.extras?.progress;
    if (progress !== undefined || call.dueAt === undefined) return progress?.startMs;
    return call.dueAt - (this.#timeoutMs() as number);
  }

  #dueFrom(startMs: number, heardMs: number): number | undefined {
    return finite(Math.min(startMs + this.#ownMs(), heardMs + this.#askedMs()));
  }
}

function finite(ms: number): number | undefined {
  return ms === Number.POSITIVE_INFINITY ? undefined : ms;
}
