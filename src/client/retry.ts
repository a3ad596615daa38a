import { type Clock, systemClock, timeUntil } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import type { WireError } from "../protocol/errors.ts";
import { callFailureIn } from "../protocol/failure-data.ts";
import type { Handle, Middleware } from "../protocol/handle.ts";
import { limitOf } from "../protocol/limits.ts";
import type { Outgoing } from "../protocol/link.ts";
import { nextId, type Reply, type Request } from "../protocol/message.ts";
import { maySendAgain, outcomeOf, worseOf } from "../protocol/retry-rule.ts";

export interface RetryOptions {
  /** Most attempts, the first included; 0 and 1 disable retries. @default 3 */
  readonly attempts?: number;
  /** The wait before the second attempt; it doubles with each attempt. @default 100 */
  readonly delayMs?: number;
  /** The longest wait, also if the server asks for a longer one. @default 5000 */
  readonly maxDelayMs?: number;
  /** Measures the waits; for tests. @default the system clock */
  readonly clock?: Clock;
  /** Returns 0 to 1; spreads the retries of clients that failed together. @default Math.random */
  readonly random?: () => number;
}

/**
 * Retries calls after temporary failures: those that certainly did not run, and idempotent ones that may have run. Waits
 * longer after each attempt, and at least as long as the server asks for in `retryAfterMs`, up to `maxDelayMs`.
 * @example
 * ```ts
 * import { createClient, retry } from "callwire";
 * import { httpLink } from "callwire/http";
 *
 * const client = createClient<typeof methods>(httpLink("http://127.0.0.1:8000/rpc"), {
 *   use: [retry({ attempts: 5, delayMs: 200 })],
 * });
 * await client.call("math/add", { a: 2, b: 3 }, { idempotent: true });
 * ```
 */
export function retry(options: RetryOptions = {}): Middleware {
  const { delayMs = 100, maxDelayMs = 5000, clock = systemClock } = options;
  const attempts = options.attempts === 0 ? 0 : limitOf("attempts", options.attempts, 3);
  const random = options.random ?? Math.random;
  return (next) => async (request, context) => {
    const call = context.outgoing;
    const repeatable = call ?? { idempotent: false };
    let reported: Attempt | undefined;
    for (let attempt = 1; ; attempt++) {
      const sent = attempt === 1 ? request : again(request, context, clock);
      const ended = await attemptOf(next, sent, context);
      // If an earlier attempt may have run, a later one that did not must not hide it.
      if (reported === undefined || worseOf(reported.failure, ended.failure) === ended.failure)
        reported = ended;
      const outcome = outcomeOf(ended.failure);
      if (attempt >= attempts || !maySendAgain(outcome, repeatable)) return reported.conclude();
      const askedMs = callFailureIn(ended.failure)?.retryAfterMs ?? 0;
      const ceilingMs = Math.min(maxDelayMs, delayMs * 2 ** (attempt - 1));
      const backoffMs = ceilingMs * (0.5 + random() / 2);
      await pause(clock, Math.max(backoffMs, Math.min(maxDelayMs, askedMs)), call);
      // Items of the last attempt will come again, and those sent during the wait are missing.
      if (outcome === "may-have-run" || call?.streamed) call?.gap();
    }
  };
}

/** How one attempt ended. */
interface Attempt {
  /** The error of the reply, or what was thrown; undefined if the call succeeded. */
  readonly failure: unknown;
  /** Returns the reply, or throws what the attempt threw. */
  conclude(): Reply | undefined;
}

async function attemptOf(next: Handle, request: Request, context: Context): Promise<Attempt> {
  try {
    const reply = await next(request, context);
    return { failure: reply?.error, conclude: () => reply };
  } catch (failure) {
    const conclude = (): never => {
      throw failure;
    };
    return { failure, conclude };
  }
}

/** The request with a new id and the remaining time. */
function again(request: Request, { deadline }: Context, clock: Clock): Request {
  const id = request.id === undefined ? undefined : nextId();
  if (request.timeoutMs === undefined || deadline === undefined) return { ...request, id };
  return { ...request, id, timeoutMs: timeUntil(clock, deadline) };
}

/** Waits; rejects if the call is cancelled meanwhile. */
function pause(clock: Clock, delayMs: number, call: Outgoing | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (call?.failed !== undefined) {
      reject(call.failed);
      return;
    }
    const done = (): void => {
      if (call !== undefined) call.cancel = undefined;
      resolve();
    };
    const timer = clock.after(delayMs, done, true);
    const cancel = (error: WireError): void => {
      timer.cancel();
      reject(error);
    };
    if (call !== undefined) call.cancel = cancel;
  });
}
