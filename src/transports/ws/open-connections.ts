import type { Connection } from "../../connection/connection.ts";
import type { Service } from "../../protocol/service.ts";

/** The connections of a service on one mount; they close with the service. */
export class OpenConnections {
  readonly #all = new Set<Connection>();
  readonly #service: Service;
  closing = false;

  constructor(service: Service) {
    this.#service = service;
    service.onClose(() => this.#closeAll());
  }

  get size(): number {
    return this.#all.size;
  }

  add(connection: Connection): void {
    this.#all.add(connection);
    void connection.closed.then(() => this.#all.delete(connection));
    // It was accepted before the shutdown began.
    if (this.closing) void connection.dismiss();
  }

  /** Lets all calls finish, then closes the connections. */
  async finish(options: { readonly drainMs?: number | undefined }): Promise<void> {
    this.closing = true;
    // If the service itself closes, it has drained already.
    const drainMs = this.#service.answerer.draining ? 0 : options.drainMs;
    await Promise.all(Array.from(this.#all, (connection) => connection.finish({ drainMs })));
  }

  async #closeAll(): Promise<void> {
    // The last calls have finished, and their replies are written within this turn.
    await new Promise((resolve) => setTimeout(resolve, 0));
    await this.finish({ drainMs: 0 });
  }
}
