import type { Overload } from "../../protocol/overload.ts";

/** How long calls may hold the event loop before it turns. */
const turnMs = 2;
/** So often it turns at most before the next call, while each turn brings another request. */
const mostTurns = 16;
/** For how long calls go on to wait for their turn after that was needed last. */
const calmMs = 1_000;

/** A request whose call is to run. */
export interface Paced {
  /** Whether nobody waits for the reply any more. */
  readonly isGone: boolean;
}

interface Waiting {
  readonly request: Paced;
  readonly run: () => void;
  readonly since: number;
  /** In which turn it may run. */
  readonly turn: number;
}

/**
 * Lets the event loop turn between calls that take long. Node accepts one connection in each turn, and hears that a
 * client has left in the turn after the one that read its request. A busy server would let clients wait that it knows
 * nothing of, and run the calls of those that gave up meanwhile. So it first reads what there is, and then runs calls.
 */
export class Pace {
  readonly #overload: Overload | undefined;
  readonly #now: () => number;
  #waiting: Waiting[] = [];
  #spentMs = 0;
  #turns = 0;
  #isTurning = false;
  /** Turns since a call ran last, and whether this one brought a request. */
  #idleTurns = 0;
  #hasArrived = false;
  /** Until then no call runs in the turn that read it. */
  #pressedUntil = 0;
  readonly #goOn = (): void => this.#runWaiting();

  /** `now` is a clock for tests, in milliseconds. */
  constructor(overload: Overload | undefined, now = () => performance.now()) {
    this.#overload = overload;
    this.#now = now;
  }

  /** A request came, whatever becomes of it. */
  arrived(): void {
    this.#hasArrived = true;
  }

  /** Runs it now, or soon if others have taken the time of this turn. */
  run(request: Paced, run: () => void): void {
    const now = this.#now();
    if (!this.#isTurning && now >= this.#pressedUntil) this.#timed(run, now);
    else {
      // The turn after the next one begins when the event loop has looked at the connection once more.
      this.#waiting.push({ request, run, since: now, turn: this.#turns + 2 });
      this.#count(this.#waiting.length);
      this.#turn();
    }
  }

  #timed(run: () => void, startedAt: number): void {
    run();
    this.#spentMs += this.#now() - startedAt;
    if (this.#spentMs >= turnMs) this.#turn();
  }

  #turn(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(this.#goOn);
  }

  #runWaiting(): void {
    this.#isTurning = false;
    this.#turns++;
    const mayBeMore = this.#hasArrived && ++this.#idleTurns < mostTurns;
    this.#hasArrived = false;
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
        const { request, run, since, turn } = waiting[next] as Waiting;
        if (turn > this.#turns) break;
        const now = this.#now();
        if (request.isGone) this.#pressedUntil = now + calmMs;
        else {
          this.#count(waiting.length - next);
          this.#overload?.waited(now - since);
          this.#timed(run, now);
        }
      }
      if (this.#spentMs >= turnMs && next < waiting.length)
        this.#pressedUntil = this.#now() + calmMs;
    } finally {
      // Those that came meanwhile are behind them.
      this.#waiting = waiting.slice(next).concat(this.#waiting);
      this.#count(this.#waiting.length);
      if (this.#waiting.length > 0) this.#turn();
      else this.#overload?.waited(0);
    }
  }

  #count(queued: number): void {
    if (this.#overload !== undefined) this.#overload.queued = queued;
  }
}
