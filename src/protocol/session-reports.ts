import type { Clock } from "./clock.ts";
import type { Middleware } from "./handle.ts";

/** A session of a protocol on top of JSON-RPC, such as MCP, that has ended. */
export interface EndedSession {
  /** The protocol, with which the names of its metrics begin. */
  readonly protocol: string;
  readonly side: "client" | "server";
  readonly durationMs: number;
  /** The kind of its transport, if there is only one. */
  readonly transport: string | undefined;
  /** Attributes of its metrics, which have few values. */
  readonly labels: Readonly<Record<string, string>>;
  /** Why it ended, if that was a failure. */
  readonly failure: string | undefined;
}

/** Reports to middleware how long the sessions of one server or client lasted. */
export class SessionReports {
  readonly #clock: Clock;
  readonly #observers: ReadonlySet<NonNullable<Middleware["sessionEnded"]>>;

  constructor(clock: Clock, use: readonly Middleware[]) {
    this.#clock = clock;
    this.#observers = new Set(use.flatMap(({ sessionEnded }) => sessionEnded ?? []));
  }

  /** The moment to pass to `ended`; undefined if nothing observes sessions. */
  begin(): number | undefined {
    return this.#observers.size === 0 ? undefined : this.#clock.elapsed();
  }

  ended(since: number, session: Omit<EndedSession, "durationMs">): void {
    const durationMs = this.#clock.elapsed() - since;
    for (const observe of this.#observers) {
      try {
        observe({ ...session, durationMs });
      } catch {
        // A failing meter must not fail the session, and there is nowhere to report it.
      }
    }
  }
}
