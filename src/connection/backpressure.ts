import type { Timer } from "../protocol/clock.ts";
import type { ConnectionState } from "./connection-state.ts";

/** So long a peer waits at most. Then its cancels and replies are read again, and calls that are too many are refused. */
const patienceMs = 5_000;
/** A connection whose calls hold no more than this does not wait for those of others. */
const lightBytes = 64 * 1024;

/** Stops reading a connection while calls in flight hold too much memory. */
export class Backpressure {
  readonly #state: ConnectionState;
  readonly #look = (): void => {
    if (this.#isHigh) return;
    const wasPaused = this.#timer !== undefined;
    this.stop();
    // Last, since what was held back comes at once, and may stop the reading again.
    if (wasPaused) this.#state.resume();
  };
  #timer: Timer | undefined;
  /** Whether waiting did not help; until memory is free again, the connection is not paused. */
  #inVain = false;

  constructor(state: ConnectionState) {
    this.#state = state;
  }

  /** A call of the peer has begun. */
  begun(): void {
    const { origin, running, pending } = this.#state;
    if (!running.held.isHigh && origin.held?.isHigh !== true) return;
    if (!this.#isHigh) return;
    // The end of its calls may depend on what the peer has yet to send: replies to calls of this end, credit for streams.
    const dependsOnPeer = pending.size > 0 || origin.openStreams > 0;
    if (this.#timer !== undefined || this.#inVain || dependsOnPeer || !this.#state.canPause) return;
    this.#state.pause();
    origin.held?.watch(this.#look);
    running.held.watch(this.#look);
    this.#timer = running.clock.after(patienceMs, () => {
      this.#inVain = true;
      this.release();
    });
  }

  /** Reads on, whatever is held. */
  release(): void {
    if (this.#timer === undefined) return;
    this.#timer.cancel();
    this.#timer = undefined;
    this.#state.resume();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#inVain = false;
    this.#state.origin.held?.forget(this.#look);
    this.#state.running.held.forget(this.#look);
  }

  get #isHigh(): boolean {
    const { origin, running } = this.#state;
    const { held } = origin;
    if (held === undefined) return false;
    return held.isHigh || (running.held.isHigh && held.bytes > lightBytes);
  }
}
