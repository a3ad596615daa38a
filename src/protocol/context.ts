import { deadlineOf } from "./deadline.ts";
import { Life } from "./life.ts";
import type { Log } from "./log.ts";
import type { ErrorObject, Id, Params, Reply, Request } from "./message.ts";
import type { Origin, Peer, Principal, Transport } from "./origin.ts";
import { takeSeat } from "./origin-calls.ts";
import type { ServerRunning } from "./server-running.ts";
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
  write(reply: Reply | undefined, life: Life): string | undefined;
}

/** What all calls of one server share. */
export interface Surroundings {
  readonly log: Log;
  readonly running: ServerRunning;
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
  private readonly surroundings: Surroundings;
  private life: Life | undefined;

  constructor(request: Request, origin: Origin, surroundings: Surroundings) {
    this.request = request;
    this.origin = origin;
    this.surroundings = surroundings;
    this.life = undefined;
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
    return this.surroundings.log;
  }

  get watch(): Watches | undefined {
    return this.surroundings.watch;
  }

  get principal(): Principal | undefined {
    return this.life?.principal ?? this.origin.principal;
  }

  set principal(principal: Principal | undefined) {
    this.#life().principal = principal;
  }

  get deadline(): number | undefined {
    const life = this.#life();
    this.#setDue(life);
    return deadlineOf(life, this.surroundings.running.clock);
  }

  get signal(): AbortSignal {
    return this.#life().signal;
  }

  /** Why the call was answered before its handler was done. */
  get ended(): ErrorObject | undefined {
    return this.life?.ended;
  }

  /** Whether it has items to send before its reply, from when that begins. */
  get isStream(): boolean {
    return this.life?.isStream === true;
  }

  beginStream(): void {
    this.#life().isStream = true;
  }

  /** Runs when the call is ended before its handler is done; a hundredth of what a signal costs. */
  onEnded(run: () => void): void {
    this.#life().onEnded = run;
  }

  /** Longest run of this call, in place of the server's; set by the router. */
  limit(limitMs: number): void {
    const life = this.#life();
    const startMs = this.#startMs(life);
    life.limitMs = limitMs;
    // A middleware that awaited something, or read the deadline, had it set by the server's limit.
    if (startMs !== undefined) {
      life.dueAt = this.#dueFrom(startMs, life.heard?.lastMs ?? startMs);
    }
    if (life.writer !== undefined) this.surroundings.running.schedule(life, this.#timeoutMs());
  }

  /** The caller has heard of its call, so that the time it gives starts anew; the server's own does not. */
  heard(): void {
    if (this.#askedMs() === Number.POSITIVE_INFINITY) return;
    const life = this.#life();
    this.#setDue(life);
    const startMs = this.#startMs(life);
    if (startMs === undefined) return;
    // Never back: the call may be due a tick later than it had to be.
    const { clock } = this.surroundings.running;
    const lastMs = Math.max(life.heard?.lastMs ?? startMs, clock.elapsed());
    life.heard = { startMs, lastMs };
    life.dueAt = this.#dueFrom(startMs, lastMs);
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
  wait(writer: Writer, resolve: (text: string | undefined) => void): Life {
    const life = this.#life();
    life.writer = writer;
    life.resolve = resolve;
    this.surroundings.running.enter(life, this.#timeoutMs());
    this.origin.count(1, 0);
    if (this.origin.calls !== undefined) takeSeat(this.origin.calls, life);
    return life;
  }

  /** The handler is done. Until then the call counts as running, even if it was answered early. */
  done(life: Life): void {
    this.surroundings.running.leave(life);
    this.origin.count(-1, 0);
    const bytes = life.batch === undefined ? life.heldBytes : life.batch.finish();
    if (bytes > 0) {
      this.surroundings.running.held.free(bytes);
      this.origin.held?.free(bytes);
    }
    if (life.seat !== undefined) this.origin.calls?.remove(life.seat);
  }

  #life(): Life {
    this.life ??= new Life(this);
    return this.life;
  }

  /** Its time counts from now on, unless it began before. */
  #setDue(life: Life): void {
    const timeoutMs = life.dueAt === undefined ? this.#timeoutMs() : undefined;
    if (timeoutMs !== undefined) {
      life.dueAt = this.surroundings.running.clock.elapsed() + timeoutMs;
    }
  }

  #timeoutMs(): number | undefined {
    return finite(Math.min(this.#ownMs(), this.#askedMs()));
  }

  #ownMs(): number {
    return this.life?.limitMs ?? this.surroundings.timeoutMs ?? Number.POSITIVE_INFINITY;
  }

  #askedMs(): number {
    const asked = this.request.timeoutMs ?? this.origin.transport.timeoutMs;
    return typeof asked === "number" && asked >= 0 ? asked : Number.POSITIVE_INFINITY;
  }

  /** When the call began, as the end of its time tells; undefined while it has none. */
  #startMs(life: Life): number | undefined {
    if (life.heard !== undefined || life.dueAt === undefined) return life.heard?.startMs;
    return life.dueAt - (this.#timeoutMs() ?? 0);
  }

  #dueFrom(startMs: number, heardMs: number): number | undefined {
    return finite(Math.min(startMs + this.#ownMs(), heardMs + this.#askedMs()));
  }
}

function finite(ms: number): number | undefined {
  return ms === Number.POSITIVE_INFINITY ? undefined : ms;
}
