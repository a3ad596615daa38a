import { connect, type NatsConnection } from "@nats-io/transport-node";
import { type Clock, systemClock } from "callwire";
import type { NatsServer } from "./nats-server.ts";

/**
 * Time that passes only while nats-server answers, so that a busy machine does not look like a
 * network partition.
 */
export class NatsTime implements Clock {
  readonly #testNats: () => NatsServer;
  #witness: Promise<NatsConnection> | undefined;

  /** nats-server has been started before anything is awaited. */
  constructor(testNats: () => NatsServer) {
    this.#testNats = testNats;
  }

  now(): number {
    return systemClock.now();
  }

  elapsed(): number {
    return systemClock.elapsed();
  }

  after(ms: number, run: () => void): { cancel(): void } {
    let cancelled = false;
    const timer = systemClock.after(ms, async () => {
      await this.#answered();
      if (!cancelled) run();
    });
    return {
      cancel() {
        cancelled = true;
        timer.cancel();
      },
    };
  }

  async #answered(): Promise<void> {
    this.#witness ??= connect({ port: this.#testNats().port, reconnect: false });
    // It fails only if nats-server is gone for good.
    await this.#witness.then((witness) => witness.flush()).catch(() => {});
  }
}
