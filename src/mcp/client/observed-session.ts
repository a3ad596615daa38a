import { type Clock, systemClock } from "../../protocol/clock.ts";
import type { Middleware } from "../../protocol/handle.ts";
import { SessionReports } from "../../protocol/session-reports.ts";
import type { ServerDescription } from "./handshake.ts";

/** The session that a client has with a legacy server, for middleware that observes sessions. */
export class ObservedSession {
  readonly #reports: SessionReports;
  readonly #transport: string | undefined;
  #current: { readonly since: number; readonly revision: string } | undefined;

  constructor(clock: Clock | undefined, use: readonly Middleware[], transport: string | undefined) {
    this.#reports = new SessionReports(clock ?? systemClock, use);
    this.#transport = transport;
  }

  begin({ era, revision }: ServerDescription): void {
    const since = this.#reports.begin();
    if (since !== undefined && era === "legacy") this.#current = { since, revision };
  }

  end(failure?: "CONNECTION_LOST" | "SESSION_LOST"): void {
    const { since, revision } = this.#current ?? {};
    this.#current = undefined;
    if (since === undefined || revision === undefined) return;
    this.#reports.ended(since, {
      protocol: "mcp",
      side: "client",
      transport: this.#transport,
      labels: { "mcp.protocol.version": revision },
      failure,
    });
  }
}
