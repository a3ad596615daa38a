import type { Clock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import { inTime } from "../protocol/in-time.ts";
import { isThenable, type MaybePromise } from "../protocol/message.ts";
import {
  type Bucket,
  type LimitStore,
  type MemoryLimits,
  memoryLimits,
  type Taken,
} from "./limit-store.ts";

/** Longer than a store in good health ever takes. */
const patienceMs = 1_000;
const late = `it gave no answer within ${patienceMs} ms`;
/** So often a store that fails is asked whether it is back. */
const restMs = 1_000;

/** A store that always answers. While the given one fails or hangs, buckets in this process take its place. */
export class SteadyLimits {
  readonly #store: LimitStore;
  readonly #clock: Clock;
  readonly #substitute: MemoryLimits;
  #isFailing = false;
  #restsUntil = 0;

  constructor(store: LimitStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#substitute = memoryLimits({ clock });
  }

  take(key: string, cost: number, bucket: Bucket, context?: Context): MaybePromise<Taken> {
    if (this.#isFailing && this.#rests()) return this.#substitute.take(key, cost, bucket);
    const failed = (error: unknown): Taken => {
      this.#fails(error, context);
      return this.#substitute.take(key, cost, bucket);
    };
    try {
      const taken = this.#store.take(key, cost, bucket);
      if (!isThenable(taken)) return this.#answered(taken);
      // One that has lost its server may answer much later, or never.
      return inTime(this.#clock, patienceMs, taken, late).then(this.#answered, failed);
    } catch (error) {
      return failed(error);
    }
  }

  /** One call in a while finds out whether it is back; the others do not wait for it. */
  #rests(): boolean {
    const now = this.#clock.elapsed();
    if (now < this.#restsUntil) return true;
    this.#restsUntil = now + restMs;
    return false;
  }

  #fails(error: unknown, context: Context | undefined): void {
    if (!this.#isFailing) context?.log.error({ err: error }, "the store of rate limits fails");
    this.#isFailing = true;
    this.#restsUntil = this.#clock.elapsed() + restMs;
  }

  readonly #answered = (taken: Taken): Taken => {
    this.#isFailing = false;
    return taken;
  };
}
