import type { CallOptions } from "../../client/outgoing-call.ts";
import { type Clock, checkTimeout } from "../../protocol/clock.ts";
import { WireError } from "../../protocol/errors.ts";
import { pause } from "../../protocol/waiting.ts";
import type { InputRequest } from "../client-input.ts";
import type { Answering } from "./input.ts";
import type { ProtocolClient } from "./protocol-client.ts";

/** How long a request waits. */
export type Patience = Pick<CallOptions, "signal" | "timeoutMs" | "within">;

/** Waits for shared work, such as the handshake, within the limits of one request; the work itself continues. */
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
      const abort = (): void => reject(cancelledError(method, gone?.reason));
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

/** Aborts when the caller cancels or the client is closed. */
export function cancelSignal(
  { closing }: ProtocolClient,
  signal: AbortSignal | undefined,
): AbortSignal {
  return signal === undefined ? closing : AbortSignal.any([signal, closing]);
}

/** Answers a question until the caller cancels, so that a handler that hangs blocks nothing. */
export function answerTo(
  request: InputRequest,
  protocol: ProtocolClient,
  signal: AbortSignal | undefined,
  input: Pick<Answering, "answer"> = protocol.input,
): Promise<object> {
  const gone = cancelSignal(protocol, signal);
  return new Promise((resolve, reject) => {
    const stop = (): void =>
      reject(
        protocol.closing.aborted
          ? new WireError("CLOSED", "the client was closed")
          : cancelledError(request.method),
      );
    if (gone.aborted) return stop();
    gone.addEventListener("abort", stop, { once: true });
    input
      .answer(request, { signal: gone })
      .then(resolve, reject)
      .finally(() => gone.removeEventListener("abort", stop));
  });
}

function cancelledError(method: string, cause?: unknown): WireError {
  return new WireError("ABORTED", `${method} was cancelled`, cause === undefined ? {} : { cause });
}
