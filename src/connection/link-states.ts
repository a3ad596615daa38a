import type { LinkState, LinkStates } from "../protocol/link.ts";
import type { Log } from "../protocol/log.ts";

/** The state of a link, and the listeners for its changes. */
export class ChangingStates implements LinkStates {
  now: LinkState = "idle";
  readonly #listeners = new Set<(state: LinkState) => void>();
  readonly #log: Log;

  /** `log` gets what listeners throw. */
  constructor(log: Log) {
    this.#log = log;
  }

  set(state: LinkState): void {
    if (this.now === state || this.now === "closed") return;
    this.now = state;
    for (const listener of this.#listeners) {
      try {
        listener(state);
      } catch (error) {
        this.#log.error({ err: error }, "a listener of the connection state threw");
      }
    }
  }

  /** Returns a function that stops listening. */
  listen(listener: (state: LinkState) => void): () => void {
    const own = (state: LinkState): void => listener(state);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }
}
