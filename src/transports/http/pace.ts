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

/** A request whose call is to run. */
export interface Paced {
  /** Whether the caller no longer waits for the call. */
  readonly isGone: boolean;
  /** It no longer waits: it is about to run, or never will. */
  ended(): void;
}

interface Waiting {
  readonly request: Paced;
  readonly run: () => void;
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
  /** How long calls have run in this turn of the event loop. */
  #spentMs = 0;
  #isSpending = false;
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
  readonly #turned = (): void => this.#rest();

  /** Tests pass their own `timer`, in milliseconds. */
  constructor(overload: Overload | undefined, timer: { now(): number } = performance) {
    this.#overload = overload;
    this.#timer = timer;
  }

  /** Runs it now, or in a later turn if other calls have used up this one. */
  run(request: Paced, run: () => void): void {
    const now = this.#timer.now();
    if (!this.#isTurning && now >= this.#pressedUntil) {
      request.ended();
      this.#timed(run, now);
    } else {
      // By the turn after the next one, the event loop has read the connection once more.
      const scope = new AsyncResource("HTTPINCOMINGMESSAGE", ownScope);
      const arrival = this.#arrivedAt(now);
      this.#waiting.push({ request, run, scope, since: now, arrival, turn: this.#turns + 2 });
      this.#count(this.#waiting.length);
      this.#turn();
    }
  }

  #timed(run: () => void, startedAt: number): void {
    if (!this.#isSpending) {
      this.#isSpending = true;
      setImmediate(this.#turned);
    }
    run();
    this.#spentMs += this.#timer.now() - startedAt;
    if (this.#spentMs >= turnMs) this.#turn();
  }

  #turn(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(this.#goOn);
  }

  #rest(): void {
    this.#isSpending = false;
    if (!this.#isTurning) this.#spentMs = 0;
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
    this.#spentMs = 0;
    const waiting = this.#waiting;
    this.#waiting = [];
    let next = 0;
    try {
      for (; next < waiting.length && this.#spentMs < turnMs; next++) {
        const { request, run, scope, since, arrival, turn } = waiting[next] as Waiting;
        if (turn > this.#turns) break;
        const now = this.#timer.now();
        request.ended();
        if (request.isGone) {
          this.#pressedUntil = now + calmMs;
          this.#overload?.callerLeft();
        } else {
          this.#count(waiting.length - next);
          this.#overload?.waited(now - since, arrival);
          scope.runInAsyncScope(this.#timed, this, run, now);
        }
      }
      if (this.#spentMs >= turnMs && next < waiting.length)
        this.#pressedUntil = this.#timer.now() + calmMs;
    } finally {
      // Requests that arrived meanwhile come after them.
      this.#waiting = waiting.slice(next).concat(this.#waiting);
      this.#count(this.#waiting.length);
      if (this.#waiting.length > 0) this.#turn();
      else this.#overload?.waited(0, 0);
    }
  }

  #arrivedAt(now: number): number {
    if (now - this.#arrivalAt >= turnMs) {
      this.#arrivalAt = now;
      this.#arrival = this.#overload?.arrival() ?? 0;
    }
    return this.#arrival;
  }

  #count(queued: number): void {
    if (this.#overload !== undefined) this.#overload.queued = queued;
  }
}
