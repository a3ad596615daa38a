import type { Clock, Timer } from "../../../protocol/clock.ts";
import type { Session } from "../session.ts";

/** A session used this recently is not moved, so that busy ones cost nothing. */
const restMs = 1_000;

/** Sessions with the same idle timeout, the longest unused first. */
export class IdleSessions {
  readonly #sessions = new Map<string, Session>();
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #due: (session: Session) => void;
  #timer: Timer | undefined;

  /** `due` is called with each session that has been idle for too long. */
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

  /** One timer for all, set for the longest unused. */
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
      // A client that waits for something is connected, even if it sends nothing.
      if (session.isUsed) this.touch(session);
      else this.#due(session);
    }
  }
}
