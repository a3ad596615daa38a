import type { Clock } from "./clock.ts";
import { HeldBytes, WireBuffers } from "./memory-bounds.ts";
import type { Origin } from "./origin.ts";
import { Running, type TimedCall } from "./running.ts";
import type { Share, Shares } from "./shares.ts";

/** What a server may run, and keep in memory. */
export interface RunningLimits {
  readonly maxRunning: number;
  readonly maxRunningBytes: number;
  readonly maxWireBytes: number;
}

const unlimited: RunningLimits = {
  maxRunning: Number.POSITIVE_INFINITY,
  maxRunningBytes: Number.POSITIVE_INFINITY,
  maxWireBytes: Number.POSITIVE_INFINITY,
};

/** The calls in progress on a server, with the memory they hold; apart, so that client bundles leave it out. */
export class ServerRunning extends Running {
  /** Memory that the calls hold. */
  readonly held: HeldBytes;
  /** What the connections that bring the calls buffer. */
  readonly buffers: WireBuffers;
  readonly #maxRunning: number;
  readonly #shares: Shares | undefined;
  readonly #idle: (() => void)[] = [];

  /** Without limits and shares for clients, which run what their own server calls. */
  constructor(clock: Clock, limits = unlimited, shares?: Shares) {
    super(clock);
    const { maxRunning, maxRunningBytes, maxWireBytes } = limits;
    this.held = new HeldBytes(maxRunningBytes);
    this.buffers = new WireBuffers(maxWireBytes);
    this.#maxRunning = maxRunning;
    this.#shares = shares;
  }

  /** Whether another call may run. The memory of a batch is counted once, with its first entry. */
  hasRoomFor(origin: Origin, isCounted: boolean): boolean {
    if (this.calls.size >= this.#maxRunning) return false;
    const isTooMuch = isUsedUp(this.held) || isUsedUp(origin.held) || this.isCrowdedBy(origin);
    return (isCounted || !isTooMuch) && !origin.isFull;
  }

  /** Whether a caller leaves too little room for others to run another call. */
  isCrowdedBy(origin: Origin): boolean {
    const { bytes, most } = this.held;
    const running = this.calls.size;
    const callsLeft = this.#maxRunning - running;
    const bytesLeft = most - bytes;
    // Most of the time much is left, and no caller has to be looked up.
    if (running <= 2 * callsLeft && bytes <= 2 * bytesLeft) return false;
    const { caller } = origin;
    return caller !== undefined && this.#shares?.isUsedUp(caller, callsLeft, bytesLeft) === true;
  }

  /** Counts a call for its caller, if that is known. */
  share(origin: Origin): Share | undefined {
    const caller = this.#shares === undefined ? undefined : origin.caller;
    return caller === undefined ? undefined : this.#shares?.enter(caller);
  }

  /** The call ended for which these bytes were counted. */
  release(share: Share | undefined, bytes: number): void {
    if (share !== undefined) this.#shares?.leave(share, bytes);
    if (bytes > 0) this.held.free(bytes);
  }

  override leave(call: TimedCall): void {
    super.leave(call);
    if (this.#idle.length > 0 && this.calls.size === 0)
      for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Resolves when nothing is in progress. */
  idle(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }
}

function isUsedUp(held: HeldBytes | undefined): boolean {
  return held !== undefined && held.bytes >= held.most;
}
