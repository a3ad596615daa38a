import { AsyncResource } from "node:async_hooks";
import type { Overload } from "../../protocol/overload.ts";

/** How long calls may block the event loop before it runs on. */
const turnMs = 2;
/** Most turns of the event loop before the next call, while each turn brings another request. */
const mostTurns = 16;
/** How long calls are delayed after the last overload. */
const calmMs = 1_000;

/** It holds nothing that has to be released. */
const ownScope = { requireManualDestroy: true };

/** A call that is to run. */
export interface Paced {
  /** Whether the caller no longer waits for it. */
  readonly isGone: boolean;
  run(): void;
  /** It will never run. */
  ended(): void;
}

interface Waiting {
  readonly call: Paced;
  /** Without it, the call would see what an `AsyncLocalStorage` holds for another request. */
  readonly scope: AsyncResource;
  readonly since: number;
  /** When it arrived, or up to `turnMs` earlier, as `Overload` measures time. */
  readonly arrival: number;
  /** The first turn in which it may run. */
  readonly turn: number;
}

/**
 * Lets the event loop run between calls that take long. Node accepts one connection in each turn, and notices that a
 * client has disconnected in the turn after the one that read its request. A busy server would leave new clients
 * waiting, and run the calls of clients that gave up. So it first reads what has arrived, and then runs calls.
 */
export class Pace {
  readonly #overload: Overload | undefined;
  readonly #timer: { now(): number };
  #waiting: Waiting[] = [];
  /** When the first call of this turn of the event loop began; undefined if none did. */
  #startedAt: number | undefined = undefined;
  #turns = 0;
  #isTurning = false;
  /** The last arrival that was read, and when; to read the CPU time for each request would take longer than to parse it. */
  #arrival = 0;
  #arrivalAt = Number.NEGATIVE_INFINITY;
  /** Turns since the last call. */
  #idleTurns = 0;
  /** Set when a request arrives, whatever becomes of it. */
  hasArrived = false;
  /** Until then no call runs in the turn that read its request. */
  #pressedUntil = 0;
  readonly #goOn = (): void => this.#runWaiting();
  readonly #turned = (): void => {
    this.#startedAt = undefined;
  };

  /** Tests pass their own `timer`, in milliseconds. */
  constructor(overload: Overload | undefined, timer: { now(): number } = performance) {
    this.#overload = overload;
    this.#timer = timer;
  }

  /** Runs it now, or in a later turn if other calls have used up this one. */
  run(call: Paced): void {
    const now = this.#timer.now();
    if (!this.#isTurning && now >= this.#pressedUntil && this.#hasTime(now)) {
      call.run();
      return;
    }
    // By the turn after the next one, the event loop has read the connection once more.
    const scope = new AsyncResource("HTTPINCOMINGMESSAGE", ownScope);
    const arrival = this.#arrivedAt(now);
    this.#waiting.push({ call, scope, since: now, arrival, turn: this.#turns + 2 });
    this.#count(this.#waiting.length);
    this.#turn();
  }

  /** Whether this turn is not used up. The clock is read once for each call, which includes what runs between calls. */
  #hasTime(now: number): boolean {
    if (this.#startedAt === undefined) {
      this.#startedAt = now;
      setImmediate(this.#turned);
    }
    return now - this.#startedAt < turnMs;
  }

  #turn(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(this.#goOn);
  }

  #runWaiting(): void {
    this.#isTurning = false;
    this.#turns++;
    const mayBeMore = this.hasArrived && ++this.#idleTurns < mostTurns;
    this.hasArrived = false;
    if (mayBeMore) {
      this.#turn();
      return;
    }
    this.#idleTurns = 0;
    const waiting = this.#waiting;
    this.#waiting = [];
    const startedAt = this.#timer.now();
    const cpuBefore = this.#overload?.cpuMs() ?? 0;
    let now = startedAt;
    let next = 0;
    try {
      while (next < waiting.length && now - startedAt < turnMs) {
        const { call, scope, since, arrival, turn } = waiting[next] as Waiting;
        if (turn > this.#turns) break;
        this.#count(waiting.length - next);
        next++;
        if (call.isGone) {
          call.ended();
          this.#pressedUntil = now + calmMs;
          this.#overload?.callerLeft();
        } else {
          this.#overload?.waited(now - since, arrival);
          scope.runInAsyncScope(call.run, call);
        }
        now = this.#timer.now();
      }
      const isUsedUp = next < waiting.length && now - startedAt >= turnMs;
      if (isUsedUp && this.#haveUsed(turnMs, cpuBefore)) this.#pressedUntil = now + calmMs;
    } finally {
      // Requests that arrived meanwhile come after them.
      this.#waiting = waiting.slice(next).concat(this.#waiting);
      this.#count(this.#waiting.length);
      if (this.#waiting.length > 0) this.#turn();
      else this.#overload?.waited(0, 0);
    }
  }

  /** Whether calls used the CPU for so long; while other processes have it, time passes too, but reading first gains nothing. */
  #haveUsed(ms: number, cpuBefore: number): boolean {
    return this.#overload === undefined || this.#overload.cpuMs() - cpuBefore >= ms;
  }

  #arrivedAt(now: number): number {
    if (now - this.#arrivalAt >= turnMs) {
      this.#arrivalAt = now;
      this.#arrival = this.#overload?.cpuMs() ?? 0;
    }
    return this.#arrival;
  }

  #count(queued: number): void {
    if (this.#overload !== undefined) this.#overload.queued = queued;
  }
}
