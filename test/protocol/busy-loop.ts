import type { Clock, Timer } from "callwire";

/**
 * An event loop whose time passes only while something blocks it. Timers fire when it turns,
 * however late that is.
 */
export class BusyLoop implements Clock {
  #now = 0;
  #cpu = 0;
  #timers: { readonly at: number; readonly run: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#now;
  }

  cpu(): number {
    return this.#cpu;
  }

  get waiting(): number {
    return this.#timers.length;
  }

  after(delayMs: number, run: () => void): Timer {
    const timer = { at: this.#now + delayMs, run };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((each) => each !== timer);
      },
    };
  }

  /** Something blocks the event loop. */
  hold(ms: number): void {
    this.#now += ms;
    this.#cpu += ms;
  }

  /** Another process has the CPU. */
  wait(ms: number): void {
    this.#now += ms;
  }

  /** Fires the timers that are due. */
  turn(): void {
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { run } of due) run();
  }

  /** Waits, with a turn each millisecond. */
  idle(ms: number): void {
    for (let i = 0; i < ms; i++) {
      this.hold(1);
      this.turn();
    }
  }
}
