import { connect, type NatsConnection } from "@nats-io/transport-node";
import { type Clock, systemClock } from "callwire";
import type { NatsServer } from "./nats-server.ts";

/** Time that passes only while the engine answers, so that a busy machine is not taken for a parted network. */
export class EngineTime implements Clock {
  readonly #engine: () => NatsServer;
  #witness: Promise<NatsConnection> | undefined;

  /** The engine has been started by the time that something is waited for. */
  constructor(engine: () => NatsServer) {
    this.#engine = engine;
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
    this.#witness ??= connect({ port: this.#engine().port, reconnect: false });
    // It fails only where the engine is gone for good.
    await this.#witness.then((witness) => witness.flush()).catch(() => {});
  }
}
