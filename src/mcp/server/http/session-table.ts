import type { Clock } from "../../../protocol/clock.ts";
import { WireError } from "../../../protocol/errors.ts";
import { limitOf } from "../../../protocol/limits.ts";
import type { WorkStore } from "../../../work/work-store.ts";
import { Session } from "../session.ts";
import { IdleSessions } from "./idle-sessions.ts";

export interface SessionOptions {
  /**
   * Most sessions at the same time; limits memory. Above it, the client with the most sessions loses the one that was
   * idle longest, unused ones first; while all are in use, new ones are refused with 503. @default 10000
   */
  readonly max?: number;
  /** How long an idle session is kept; one that was never used, at most a minute. @default 1800000 */
  readonly idleMs?: number;
  /**
   * Where sessions and their streams are stored, such as a `PostgresWorkStore`, so that any process of a fleet can answer
   * any request; `max` then limits those that this process uses. @default this process
   */
  readonly store?: WorkStore;
}

/** Any client can send `initialize`, so a session is kept only briefly until its client sends something more. */
const mostUnused = 1_000;
export const idleSessionMs = 1_800_000;
export const unusedMs = 60_000;

/** The sessions of one endpoint. */
export class SessionTable {
  /** Sessions without a request after `initialize`. */
  readonly #unused: IdleSessions;
  readonly #used: IdleSessions;
  /** How many sessions each client has, so that a client that opens many loses its own. */
  readonly #owners = new Map<string, number>();
  readonly #max: number;
  readonly #ended: (session: Session, isUnused: boolean) => void;

  constructor(
    clock: Clock,
    options: SessionOptions,
    ended: (session: Session, isUnused: boolean) => void,
  ) {
    this.#max = limitOf("sessions.max", options.max, 10_000);
    const idleMs = limitOf("sessions.idleMs", options.idleMs, idleSessionMs);
    const end = (session: Session): void => this.end(session);
    this.#unused = new IdleSessions(clock, Math.min(idleMs, unusedMs), end);
    this.#used = new IdleSessions(clock, idleMs, end);
    this.#ended = ended;
  }

  get size(): number {
    return this.#unused.size + this.#used.size;
  }

  /** False if all are in use, so that none may be ended for a new one. */
  get hasRoom(): boolean {
    return this.size < this.#max || this.#leastWanted() !== undefined;
  }

  /** It does not count before `add`. */
  make(principal: string | undefined, address: string | undefined): Session {
    return new Session(crypto.randomUUID(), principal, address);
  }

  add(session: Session): void {
    if (this.#unused.size >= mostUnused) this.#end(idlest(this.#unused.values(), this.#owners));
    if (this.size >= this.#max) this.#end(this.#leastWanted());
    this.#unused.add(session);
    this.#owners.set(session.owner, (this.#owners.get(session.owner) ?? 0) + 1);
  }

  get(id: string): Session | undefined {
    return this.#used.get(id) ?? this.#unused.get(id);
  }

  /** Undefined if there is none, or it belongs to another principal. */
  use(id: string, principal: string | undefined): Session | undefined {
    const session = this.get(id);
    if (session === undefined || session.principal !== principal) return undefined;
    if (this.#unused.delete(session)) this.#used.add(session);
    else this.#used.touch(session);
    return session;
  }

  end(session: Session): void {
    const isUnused = this.#unused.delete(session);
    if (!isUnused && !this.#used.delete(session)) return;
    const left = (this.#owners.get(session.owner) ?? 0) - 1;
    if (left > 0) this.#owners.set(session.owner, left);
    else this.#owners.delete(session.owner);
    session.end(new WireError("CLOSED", "the session has ended"));
    this.#ended(session, isUnused);
  }

  endAll(): void {
    for (const sessions of [this.#unused, this.#used]) {
      sessions.stop();
      for (const session of [...sessions.values()]) this.end(session);
    }
  }

  #leastWanted(): Session | undefined {
    return idlest(this.#unused.values(), this.#owners) ?? idlest(this.#used.values(), this.#owners);
  }

  #end(session: Session | undefined): void {
    if (session !== undefined) this.end(session);
  }
}

/** The longest idle session of the client with the most; never one in use. */
function idlest(
  sessions: Iterable<Session>,
  owners: ReadonlyMap<string, number>,
): Session | undefined {
  let found: Session | undefined;
  let most = 0;
  for (const session of sessions) {
    const count = owners.get(session.owner) ?? 0;
    if (count <= most || session.isUsed) continue;
    found = session;
    most = count;
  }
  return found;
}
