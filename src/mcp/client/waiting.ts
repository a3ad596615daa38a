import type { CallOptions } from "../../client/outgoing-call.ts";
import type { Clock } from "../../protocol/clock.ts";
import { WireError } from "../../protocol/errors.ts";
import { checkTimeout } from "../../protocol/limits.ts";
import { pause } from "./pause.ts";

/** How long a request waits. */
export type Patience = Pick<CallOptions, "signal" | "timeoutMs" | "within">;

/**
 * What a request waits for beside others, such as the handshake, and no longer than it may: one that is given
 * up or out of time leaves the rest alone.
 */
export function waitedFor<T>(
  awaited: Promise<T>,
  method: string,
  { signal, timeoutMs, within }: Patience,
  clock: Clock | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    checkTimeout(timeoutMs);
    const settled = new AbortController();
    for (const gone of [signal, within?.signal]) {
      const abort = (): void =>
        reject(new WireError("ABORTED", `${method} was cancelled`, { cause: gone?.reason }));
      if (gone?.aborted) abort();
      gone?.addEventListener("abort", abort, { once: true, signal: settled.signal });
    }
    if (timeoutMs !== undefined) {
      const sentence = `${method} did not answer within ${timeoutMs / 1000} s`;
      const late = (): void => reject(new WireError("TIMEOUT", sentence));
      void pause(timeoutMs, clock, settled.signal).then(late);
    }
    awaited.then(resolve, reject).finally(() => settled.abort());
  });
}
