import { type Clock, systemClock, timeUntil } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import { ErrorCode, WireError } from "../protocol/errors.ts";
import type { Middleware } from "../protocol/handle.ts";
import { nextId } from "../protocol/ids.ts";
import { limitOf } from "../protocol/limits.ts";
import type { Reply, Request } from "../protocol/message.ts";

export interface RetryOptions {
  /** Most tries, the first included. @default 3 */
  readonly attempts?: number;
  /** The wait before the second try; it doubles from then on. @default 100 */
  readonly delayMs?: number;
  /** The longest wait. @default 5000 */
  readonly maxDelayMs?: number;
  /** The clock of the waits, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
  /** Between 0 and 1; spreads clients that failed together. @default Math.random */
  readonly random?: () => number;
}

/**
 * Tries idempotent calls again when the wire or the server was not up to them. Others are never repeated.
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
    const call = context as Context & {
      readonly idempotent?: boolean;
      readonly streamed?: boolean;
      gap?(): void;
    };
    const { idempotent = false } = call;
    for (let attempt = 1; ; attempt++) {
      const last = attempt >= attempts || !idempotent;
      const sent = attempt === 1 ? request : again(request, context, clock);
      let isLost = false;
      try {
        const reply = await next(sent, context);
        if (last || !mayPass(reply)) return reply;
      } catch (error) {
        if (last || !isPassing(error)) throw error;
        isLost = !didNotRun(error);
      }
      const ceiling = Math.min(maxDelayMs, delayMs * 2 ** (attempt - 1));
      await pause(clock, ceiling * (0.5 + random() / 2), context);
      // Items that came will come again, or those of the meantime are missing, which the wait is a part of.
      if (isLost || call.streamed) call.gap?.();
    }
  };
}

/** A request of its own, with what is left of the time. */
function again(request: Request, { deadline }: Context, clock: Clock): Request {
  const id = request.id === undefined ? undefined : nextId();
  if (request.timeoutMs === undefined || deadline === undefined) return { ...request, id };
  return { ...request, id, timeoutMs: timeUntil(clock, deadline) };
}

function mayPass(reply: Reply | undefined): boolean {
  const code = reply?.error?.code;
  return code === ErrorCode.ServerBusy || code === ErrorCode.ShuttingDown;
}

/** Whether the wire, or what stands before the server, was not up to the call. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof WireError)) return false;
  if (error.code === "HTTP_STATUS") return error.status !== undefined && error.status >= 502;
  return error.code === "CONNECTION_LOST" || error.code === "CONNECTION_FAILED";
}

export function didNotRun(error: unknown): boolean {
  return error instanceof WireError && error.code === "CONNECTION_FAILED";
}

/** Waits, unless the call was given up meanwhile. */
function pause(clock: Clock, delayMs: number, context: Context): Promise<void> {
  const call = context as Context & {
    cancel?: ((error: WireError) => void) | undefined;
    failed?: WireError | undefined;
  };
  return new Promise((resolve, reject) => {
    if (call.failed !== undefined) {
      reject(call.failed);
      return;
    }
    const done = (): void => {
      call.cancel = undefined;
      resolve();
    };
    const timer = clock.after(delayMs, done, true);
    const cancel = (error: WireError): void => {
      timer.cancel();
      reject(error);
    };
    call.cancel = cancel;
  });
}
