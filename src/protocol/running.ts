import { type Clock, longestDelayMs, type Timer } from "./clock.ts";
import { type Linked, LinkedList } from "./linked-list.ts";
import type { ErrorObject } from "./message.ts";

/** A call that outlives the message that brought it. */
export interface Lasting extends Linked<Lasting> {
  /** When its time is up, as `elapsed` of the clock measures it: setting the clock must neither end a call nor keep it. */
  dueAt: number | undefined;
  /** Told that its time is up; again and again, until it leaves. */
  expire(): void;
  /** Ends it early, with what its caller is told; a call that this end made is ended by whoever made it. */
  end?(error: ErrorObject): void;
}

/** How coarse time is here. Reading the clock for every call would cost more than it tells. */
const tickMs = 10;
/** A process may be held up for longer than a tick. Where a call has less time than this, that would be too much of it. */
const longMs = 60_000;

/** The calls in progress, with one timer for all their deadlines. */
export class Running {
  readonly clock: Clock;
  /** Whether somebody here waits for the calls, so that the process must not end before they do. */
  readonly #holds: boolean;
  readonly #calls = new LinkedList<Lasting>();
  #timer: Timer | undefined;
  /** While calls keep coming, the timer ticks and this is the time; otherwise it sleeps. */
  #ticking = false;
  #entered = false;
  #now = 0;
  #nextDue = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, holds = false) {
    this.clock = clock;
    this.#holds = holds;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** A copy, so that calls may leave while it is walked. */
  list(): Lasting[] {
    return this.#calls.list();
  }

  enter(call: Lasting, timeoutMs: number | undefined): void {
    this.#calls.add(call);
    this.schedule(call, timeoutMs);
  }

  /** Watches when a call is due, which is set here unless it is known. */
  schedule(call: Lasting, timeoutMs: number | undefined): void {
    this.#entered = true;
    if (!this.#ticking) {
      this.#ticking = true;
      this.#now = this.clock.elapsed();
      this.#wakeIn(tickMs);
    }
    if (call.dueAt === undefined) {
      if (timeoutMs === undefined) return;
      if (timeoutMs < longMs) this.#now = this.clock.elapsed();
      // A tick is added because the time may be that old, and no call may end early.
      call.dueAt = this.#now + tickMs + timeoutMs;
    }
    if (call.dueAt < this.#nextDue) this.#nextDue = call.dueAt;
  }

  leave(call: Lasting): void {
    if (!this.#calls.remove(call) || this.#calls.size > 0) return;
    // A tick is soon over; to sleep on would keep a process that has nothing left to do.
    if (this.#holds && !this.#ticking) this.#timer?.cancel();
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
      // Who has no calls is not woken, or a client that is closed would be kept until the last of its calls had been due.
      if (this.size > 0 && this.#nextDue < Number.POSITIVE_INFINITY)
        this.#wakeIn(this.#nextDue - this.#now);
    }
  }

  #expireDue(): void {
    const due: Lasting[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (let call = this.#calls.first; call !== undefined; call = call.next) {
      if (call.dueAt === undefined) continue;
      if (call.dueAt <= this.#now) due.push(call);
      else if (call.dueAt < next) next = call.dueAt;
    }
    this.#nextDue = next;
    for (const call of due) call.expire();
  }
}
