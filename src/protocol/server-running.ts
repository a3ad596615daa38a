import type { Clock } from "./clock.ts";
import { HeldBytes } from "./held-bytes.ts";
import { Running } from "./running.ts";
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

  constructor(clock: Clock, limits?: RunningLimits) {
    super(clock);
    this.held = new HeldBytes(limits?.maxRunningBytes ?? Number.POSITIVE_INFINITY);
    this.buffers = new WireBuffers(limits?.maxWireBytes ?? Number.POSITIVE_INFINITY);
  }
}
