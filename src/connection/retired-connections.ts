import type { Clock } from "../protocol/clock.ts";
import type { Connection } from "./connection.ts";

/** How often to check whether the calls of a connection have ended. */
const pollMs = 1_000;

/** Connections that are replaced, and close after their last call. */
export class RetiredConnections {
  readonly #connections = new Set<Connection>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(connection: Connection): void {
    this.#connections.add(connection);
    this.#closeWhenDone(connection);
  }

  /** Closes all now. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#connections, (connection) => connection.close()));
  }

  #closeWhenDone(connection: Connection): void {
    if (connection.isOpen && connection.pending + connection.origin.inFlight > 0) {
      this.#clock.after(pollMs, () => this.#closeWhenDone(connection));
      return;
    }
    this.#connections.delete(connection);
    void connection.close();
  }
}
