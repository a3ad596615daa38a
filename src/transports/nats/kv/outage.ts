import { systemClock, withTimeout } from "../../../protocol/clock.ts";
import type { Context } from "../../../protocol/context.ts";
import { electionPatienceMs, isAway, isForbidden } from "../engine-errors.ts";
import type { KV } from "./client-library.ts";

/** After this time without an answer an attempt is given up: one that went to a node which died never gets any. */
export const attemptMs = 2_000;
/** What is said then. */
export const silence = "NATS did not answer in time";
const askAfterMs = 100;
/** After this time what failed is tried again, whatever the engine says of the bucket. */
const tryAfterMs = 1_000;

/** Bridges the time in which nobody leads a bucket, because the cluster elects or NATS is started anew. */
export class Outage {
  readonly #bucket: Pick<KV, "status">;
  #asking: Promise<boolean> | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(bucket: Pick<KV, "status">) {
    this.#bucket = bucket;
  }

  /** What it comes to once somebody leads the bucket. It may run several times, also where the engine has heard it before. */
  async bridge<T>(run: () => Promise<T>, call?: Pick<Context, "log" | "signal">): Promise<T> {
    const start = performance.now();
    for (;;) {
      call?.signal.throwIfAborted();
      try {
        return await withTimeout(systemClock, attemptMs, run(), silence);
      } catch (error) {
        await this.wait(error, start, call);
      }
    }
  }

  /** Resolves when it makes sense to try again what failed; rejects with the failure where it does not, or has not for long. */
  async wait(failure: unknown, since: number, call?: Pick<Context, "log">): Promise<void> {
    const now = performance.now();
    if (!isAway(failure) || now - since > electionPatienceMs) throw failure;
    if (call !== undefined && now - this.#toldAt > electionPatienceMs) {
      this.#toldAt = now;
      const sentence = "a bucket of NATS does not answer: the calls that need it wait";
      call.log.warn({ err: failure }, sentence);
    }
    await Promise.race([this.isLed(), pause(tryAfterMs)]);
  }

  /** Whether somebody leads the bucket; rejects where it is gone. Those who ask at the same time ask together. */
  isLed(): Promise<boolean> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<boolean> {
    await pause(askAfterMs);
    try {
      const status = withTimeout(systemClock, attemptMs, this.#bucket.status(), silence);
      const { cluster } = (await status).streamInfo;
      // One that lost its leader may still be described, by those who are left.
      return cluster === undefined || Boolean(cluster.leader);
    } catch (error) {
      if (isAway(error)) return false;
      // Who may not ask can still try.
      if (isForbidden(error)) return true;
      throw error;
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(ms, resolve, true);
  });
}
