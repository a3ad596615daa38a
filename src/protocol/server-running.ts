import type { Clock } from "./clock.ts";
import { HeldBytes } from "./held-bytes.ts";
import { type Lasting, Running } from "./running.ts";
import { WireBuffers } from "./wire-buffers.ts";

/** What a server may keep in memory. */
export interface RunningLimits {
  readonly maxRunningBytes: number;
  readonly maxWireBytes: number;
}

/** The calls in progress on a server, with the memory they hold; apart, so that client bundles leave it out. */
export class ServerRunning extends Running {
  /** Memory that the calls hold. */
  readonly held: HeldBytes;
  /** What the connections that bring the calls buffer. */
  readonly buffers: WireBuffers;
  readonly #idle: (() => void)[] = [];

  constructor(clock: Clock, limits?: RunningLimits) {
    super(clock);
    this.held = new HeldBytes(limits?.maxRunningBytes ?? Number.POSITIVE_INFINITY);
    this.buffers = new WireBuffers(limits?.maxWireBytes ?? Number.POSITIVE_INFINITY);
  }

  override leave(call: Lasting): void {
    super.leave(call);
    if (this.#idle.length > 0 && this.size === 0) {
      for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  /** Resolves when nothing is in progress. */
  idle(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }
}
