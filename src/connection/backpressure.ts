import type { Timer } from "../protocol/clock.ts";
import type { ConnectionState } from "./connection-state.ts";

/** Longest pause. Afterwards the peer's cancels and replies are read again, and excess calls are refused. */
const patienceMs = 5_000;
/** A connection whose calls hold no more than this is not paused because of the calls of other connections. */
const lightBytes = 64 * 1024;

/** Pauses a connection while the calls in flight hold too much memory. */
export class Backpressure {
  readonly #state: ConnectionState;
  readonly #look = (): void => {
    if (this.#isHigh) return;
    const wasPaused = this.isPaused;
    this.stop();
    // Last, because held messages are delivered at once and may pause the connection again.
    if (wasPaused) this.#state.resume();
  };
  #timer: Timer | undefined;
  /** Whether reading is paused; changed here only. */
  isPaused = false;
  /** Whether a pause timed out; the connection is not paused again until memory is free. */
  #inVain = false;

  constructor(state: ConnectionState) {
    this.#state = state;
  }

  /** The peer made a call. */
  begun(): void {
    const { origin, running, pending } = this.#state;
    if (!running.held.isHigh && origin.held?.isHigh !== true) return;
    if (!this.#isHigh) return;
    // Its calls may depend on messages that the peer has yet to send: replies to our calls, credit for streams.
    const dependsOnPeer = pending.size > 0 || origin.openStreams > 0;
    if (this.isPaused || this.#inVain || dependsOnPeer || !this.#state.canPause) return;
    this.isPaused = true;
    this.#state.pause();
    origin.held?.watch(this.#look);
    running.held.watch(this.#look);
    this.#timer = running.clock.after(patienceMs, () => {
      this.#inVain = true;
      this.release();
    });
  }

  /** Resumes reading, whatever is held. */
  release(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.#timer?.cancel();
    this.#state.resume();
  }

  stop(): void {
    this.#timer?.cancel();
    this.isPaused = false;
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
