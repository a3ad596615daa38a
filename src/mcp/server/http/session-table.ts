import type { Clock, Timer } from "../../../protocol/clock.ts";
import { WireError } from "../../../protocol/errors.ts";
import { limitOf } from "../../../protocol/limits.ts";
import { Session } from "../session.ts";

export interface SessionOptions {
  /** Most sessions at the same time; the one that was idle longest goes first. @default 10000 */
  readonly max?: number;
  /** How long a session lives that nobody uses. @default 1800000 */
  readonly idleMs?: number;
}

/** A session that was used this recently keeps its place, so that busy ones cost nothing. */
const restMs = 1_000;

/** The sessions of one endpoint, the longest unused first. */
export class SessionTable {
  readonly #sessions = new Map<string, Session>();
  readonly #clock: Clock;
  readonly #max: number;
  readonly #idleMs: number;
  readonly #ended: (session: Session) => void;
  #timer: Timer | undefined;

  constructor(clock: Clock, options: SessionOptions, ended: (session: Session) => void) {
    const { max = 10_000, idleMs = 1_800_000 } = options;
    this.#clock = clock;
    this.#max = limitOf("sessions.max", max);
    this.#idleMs = limitOf("sessions.idleMs", idleMs);
    this.#ended = ended;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** It counts once it was added. */
  make(principal: string | undefined): Session {
    return new Session(crypto.randomUUID(), principal);
  }

  add(session: Session): void {
    if (this.#sessions.size >= this.#max) this.#endOldest();
    session.lastUsed = this.#clock.elapsed();
    this.#sessions.set(session.id, session);
    this.#watch();
  }

  /** Undefined for one that is not there, or is somebody else's. */
  use(id: string, principal: string | undefined): Session | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined || session.principal !== principal) return undefined;
    const now = this.#clock.elapsed();
    if (now - session.lastUsed > restMs) {
      session.lastUsed = now;
      this.#sessions.delete(id);
      this.#sessions.set(id, session);
    }
    return session;
  }

  end(session: Session): void {
    if (!this.#sessions.delete(session.id)) return;
    session.end(new WireError("CLOSED", "the session has ended"));
    this.#ended(session);
  }

  endAll(): void {
    this.#timer?.cancel();
    for (const session of [...this.#sessions.values()]) this.end(session);
  }

  /** One that is in use goes only where all are. */
  #endOldest(): void {
    let oldest: Session | undefined;
    for (const session of this.#sessions.values()) {
      oldest ??= session;
      if (session.isUsed) continue;
      oldest = session;
      break;
    }
    if (oldest !== undefined) this.end(oldest);
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
      if (session.isUsed) {
        session.lastUsed = this.#clock.elapsed();
        this.#sessions.delete(session.id);
        this.#sessions.set(session.id, session);
      } else this.end(session);
    }
  }
}
