import type { Clock, Timer } from "../../../protocol/clock.ts";
import type { Session } from "../session.ts";

/** A session that was used this recently keeps its place, so that busy ones cost nothing. */
const restMs = 1_000;

/** Sessions that end after the same time without use, the longest unused first. */
export class IdleSessions {
  readonly #sessions = new Map<string, Session>();
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #due: (session: Session) => void;
  #timer: Timer | undefined;

  /** `due` hears of each session whose time is up. */
  constructor(clock: Clock, idleMs: number, due: (session: Session) => void) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#due = due;
  }

  get size(): number {
    return this.#sessions.size;
  }

  get(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  add(session: Session): void {
    session.lastUsed = this.#clock.elapsed();
    this.#sessions.set(session.id, session);
    this.#watch();
  }

  touch(session: Session): void {
    if (this.#clock.elapsed() - session.lastUsed <= restMs) return;
    this.#sessions.delete(session.id);
    this.add(session);
  }

  delete(session: Session): boolean {
    return this.#sessions.delete(session.id);
  }

  values(): Iterable<Session> {
    return this.#sessions.values();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** One timer for all, set to when the longest unused is due. */
  #watch(): void {
    const [oldest] = this.#sessions.values();
    if (this.#timer !== undefined || oldest === undefined) return;
    const dueMs = Math.max(oldest.lastUsed + this.#idleMs - this.#clock.elapsed(), restMs);
    this.#timer = this.#clock.after(dueMs, () => {
      this.#timer = undefined;
      this.#endIdle();
      this.#watch();
    });
  }

  #endIdle(): void {
    const due = this.#clock.elapsed() - this.#idleMs;
    for (const session of this.#sessions.values()) {
      if (session.lastUsed > due) return;
      // Who waits is there, even if it has nothing to say.
      if (session.isUsed) this.touch(session);
      else this.#due(session);
    }
  }
}
