import { type Clock, forever, longestDelayMs, type Timer } from "./clock.ts";
import { type Linked, LinkedList } from "./linked-list.ts";
import type { ErrorObject } from "./message.ts";

/** A call that outlives its turn. */
export interface TimedCall extends Linked<TimedCall> {
  /** When it times out, on the scale of `elapsed`, because setting the clock must neither end nor prolong a call. */
  dueAt: number | undefined;
  /** Called when it is due, and again until it leaves. */
  expire(): void;
  /** Ends it early with this error; missing for calls that this process made, which their caller ends. */
  end?(error: ErrorObject): void;
}

/** Resolution of time; reading the clock forevery call would cost too much. */
const tickMs = 10;
/** The process may be blocked for longer than a tick, which matters to calls with a shorter timeout than this. */
const longMs = 60_000;

/** The calls in progress, with one timer for all their deadlines. */
export class Running {
  readonly clock: Clock;
  /** Whether the calls keep the process alive, because this process waits for their replies. */
  readonly #holds: boolean;
  protected readonly calls: LinkedList<TimedCall> = new LinkedList();
  #timer: Timer | undefined;
  /** While calls arrive, the timer ticks and `#now` is the time; otherwise it sleeps. */
  #ticking = false;
  #entered = false;
  #now = 0;
  #nextDue = forever;

  constructor(clock: Clock, holds = false) {
    this.clock = clock;
    this.#holds = holds;
  }

  get size(): number {
    return this.calls.size;
  }

  /** A copy, so that calls may leave during iteration. */
  list(): TimedCall[] {
    return this.calls.list();
  }

  enter(call: TimedCall, timeoutMs: number | undefined): void {
    this.schedule(call, timeoutMs);
    this.calls.add(call);
  }

  /** Schedules the timeout of a call; sets `dueAt` unless it is known. */
  schedule(call: TimedCall, timeoutMs: number | undefined): void {
    this.#entered = true;
    if (!this.#ticking) {
      this.#ticking = true;
      this.#wakeIn(tickMs);
      this.#now = this.clock.elapsed();
    }
    if (call.dueAt === undefined) {
      if (timeoutMs === undefined) return;
      if (timeoutMs < longMs) this.#now = this.clock.elapsed();
      // A tick is added, because `#now` may be that old and no call may end early.
      call.dueAt = this.#now + tickMs + timeoutMs;
    }
    if (call.dueAt < this.#nextDue) this.#nextDue = call.dueAt;
  }

  leave(call: TimedCall): void {
    if (!this.calls.remove(call) || this.calls.size > 0) return;
    // A tick is soon over; a longer timer would keep an idle process alive, or what has closed in memory.
    if (!this.#ticking) this.#timer?.cancel();
  }

  #wakeIn(delayMs: number): void {
    this.#timer?.cancel();
    const delay = Math.min(delayMs, longestDelayMs);
    this.#timer = this.clock.after(delay, () => this.#tick(), this.#holds);
  }

  #tick(): void {
    this.#timer = undefined;
    this.#now = this.clock.elapsed();
    if (this.#now >= this.#nextDue) this.#expireDue();
    if (this.#entered) {
      this.#entered = false;
      this.#wakeIn(tickMs);
    } else {
      this.#ticking = false;
      // Don't re-arm when idle: the timer would keep a closed client's process alive until its last deadline.
      if (this.size > 0 && this.#nextDue < forever) this.#wakeIn(this.#nextDue - this.#now);
    }
  }

  #expireDue(): void {
    const due: TimedCall[] = [];
    let next = forever;
    for (let call = this.calls.first; call !== undefined; call = call.next) {
      if (call.dueAt === undefined) continue;
      if (call.dueAt <= this.#now) due.push(call);
      else if (call.dueAt < next) next = call.dueAt;
    }
    this.#nextDue = next;
    for (const call of due) call.expire();
  }
}
