import type { Connection } from "../../connection/connection.ts";
import type { Service } from "../../protocol/service.ts";

/** The connections of a service on one mount; they close when the service does. */
export class OpenConnections {
  readonly #all = new Set<Connection>();

  constructor(service: Service) {
    service.onClose(() => this.#closeAll());
  }

  get size(): number {
    return this.#all.size;
  }

  add(connection: Connection): void {
    this.#all.add(connection);
    void connection.closed.then(() => this.#all.delete(connection));
  }

  async #closeAll(): Promise<void> {
    // The last calls have finished, and their replies are written before the next turn.
    await new Promise((resolve) => setTimeout(resolve, 0));
    await Promise.all(Array.from(this.#all, (connection) => connection.close("going-away")));
  }
}
