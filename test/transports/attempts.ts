import type { ReconnectOptions } from "callwire/connection";
import { FakeClock } from "callwire/testing";
import { expect } from "vitest";

/** Follows a link that tries to reconnect, until it no longer tries. */
export class Attempts {
  readonly #most: number;
  readonly #clock = new FakeClock();
  #lost = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get options(): ReconnectOptions {
    return {
      attempts: this.#most,
      delayMs: 1,
      clock: this.#clock,
      onLost: () => void this.#lost++,
    };
  }

  /** Resolves when the last connection was lost; fails if another attempt follows. */
  async over(): Promise<void> {
    // The first attempt is made at once, and each of the others after a pause.
    for (let lost = 2; lost <= this.#most; lost++) {
      await expect.poll(() => [this.#lost, this.#clock.waiting]).toEqual([lost, 1]);
      this.#clock.advance(100);
    }
    await expect.poll(() => this.#lost).toBe(this.#most + 1);
    expect(this.#clock.waiting).toBe(0);
  }
}
