import { systemClock } from "../../../protocol/clock.ts";
import type { Context } from "../../../protocol/context.ts";
import { inTime } from "../../../protocol/in-time.ts";
import { isForbidden, saysNobody, unavailableCode } from "../engine-errors.ts";
import type { KV } from "./client-library.ts";

/** After this time without an answer an attempt is given up: one that went to a node which died never gets any. */
export const attemptMs = 2_000;
/** Elections take 4 to 9 seconds, and longer where the first is a draw. */
const patienceMs = 20_000;
const askAfterMs = 100;
const askForMs = 500;

const silence = "NATS did not answer in time";

/** Bridges the time in which nobody leads a bucket, because the cluster elects or NATS is started anew. */
export class Outage {
  readonly #bucket: Pick<KV, "status">;
  #end: Promise<void> | undefined;

  constructor(bucket: Pick<KV, "status">) {
    this.#bucket = bucket;
  }

  /** What it comes to once somebody leads the bucket. It may run several times, also where the engine has heard it before. */
  async bridge<T>(run: () => Promise<T>, call?: Pick<Context, "log" | "signal">): Promise<T> {
    const start = performance.now();
    for (;;) {
      call?.signal.throwIfAborted();
      try {
        return await inTime(systemClock, attemptMs, run(), silence);
      } catch (error) {
        if (!isAway(error) || performance.now() - start > patienceMs) throw error;
        if (this.#end === undefined) call?.log.warn({ err: error }, waiting);
        await this.over();
      }
    }
  }

  /** Resolves when somebody leads the bucket; rejects where it is gone, or away for too long. All wait together. */
  over(): Promise<void> {
    this.#end ??= this.#ask().finally(() => {
      this.#end = undefined;
    });
    return this.#end;
  }

  async #ask(): Promise<void> {
    const start = performance.now();
    for (;;) {
      await new Promise<void>((resolve) => systemClock.after(askAfterMs, resolve, true));
      try {
        await inTime(systemClock, askForMs, this.#bucket.status(), silence);
        return;
      } catch (error) {
        // Who may not ask can still try.
        if (isForbidden(error)) return;
        if (!isAway(error) || performance.now() - start > patienceMs) throw error;
      }
    }
  }
}

const waiting = "nobody leads a bucket of NATS: the calls that need it wait";

/** It may be there again soon. */
export function isAway(error: unknown): boolean {
  const { name, message, code } = error as Error & { readonly code?: unknown };
  return (
    saysNobody(error) || name === "TimeoutError" || message === silence || code === unavailableCode
  );
}
