import type { Clock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import { isThenable, type MaybePromise } from "../protocol/message.ts";
import { withTimeout } from "../protocol/waiting.ts";
import {
  type Bucket,
  type LimitStore,
  type MemoryLimits,
  memoryLimits,
  type Taken,
} from "./limit-store.ts";

/** Timeout of the store, longer than a healthy one ever takes. */
const timeoutMs = 1_000;
const late = `no answer within ${timeoutMs} ms`;
/** How often a failing store is tried again. */
const retryMs = 1_000;

/** Uses the given store, and buckets in this process while that store fails or hangs. */
export class FallbackLimits {
  readonly #store: LimitStore;
  readonly #clock: Clock;
  readonly #substitute: MemoryLimits;
  #isFailing = false;
  #retryAt = 0;

  constructor(store: LimitStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#substitute = memoryLimits({ clock });
  }

  take(key: string, cost: number, bucket: Bucket, context?: Context): MaybePromise<Taken> {
    if (this.#isFailing && this.#isWaiting()) return this.#substitute.take(key, cost, bucket);
    const failed = (error: unknown): Taken => {
      this.#fails(error, context);
      return this.#substitute.take(key, cost, bucket);
    };
    try {
      const taken = this.#store.take(key, cost, bucket);
      if (!isThenable(taken)) return this.#answered(taken);
      // A client that lost its server may answer much later or never.
      return withTimeout(this.#clock, timeoutMs, taken, late).then(this.#answered, failed);
    } catch (error) {
      return failed(error);
    }
  }

  /** False for one call per interval, which tries the store again; the others do not wait for it. */
  #isWaiting(): boolean {
    const now = this.#clock.elapsed();
    if (now < this.#retryAt) return true;
    this.#retryAt = now + retryMs;
    return false;
  }

  #fails(error: unknown, context: Context | undefined): void {
    if (!this.#isFailing)
      context?.log.error({ err: error }, "rate limit store failed; limiting in this process");
    this.#isFailing = true;
    this.#retryAt = this.#clock.elapsed() + retryMs;
  }

  readonly #answered = (taken: Taken): Taken => {
    this.#isFailing = false;
    return taken;
  };
}
