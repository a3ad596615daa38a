import type { CallOptions, OutgoingCall } from "../../client/outgoing-call.ts";
import { type Ending, hasEnded, whenEnded } from "../../protocol/call-end.ts";
import { type Clock, checkTimeout } from "../../protocol/clock.ts";
import { WireError } from "../../protocol/errors.ts";
import { pause } from "../../protocol/waiting.ts";
import type { InputRequest } from "../client-input.ts";
import type { Answering } from "./input.ts";
import type { ProtocolClient } from "./protocol-client.ts";

/** What the library itself adds to the options of a request. */
export interface Ends {
  /** Ends the request too, for less than `signal`: what a gateway passes on lasts as long as the call of its client. */
  readonly ending?: Ending | undefined;
}

export type RequestOptions = CallOptions & Ends;

/** How long a request waits. */
export type Patience = Pick<RequestOptions, "signal" | "timeoutMs" | "within" | "ending">;

/** Aborts when the request is cancelled, or what it is part of. */
export function signalOf({ signal, within, ending }: Patience): AbortSignal | undefined {
  const signals = [signal, within?.signal, ending?.signal].filter((each) => each !== undefined);
  return signals.length > 1 ? AbortSignal.any(signals) : signals[0];
}

/** Ends a request with what it is part of. */
export function endWith(call: OutgoingCall): void {
  const { ending } = call.options as RequestOptions;
  if (ending === undefined) return;
  const end = (): void => call.fail(cancelledError(call.method, ending.signal.reason));
  if (hasEnded(ending)) end();
  else whenEnded(ending, end);
}

/** Waits for shared work, such as the handshake, within the limits of one request; the work itself continues. */
export function waitedFor<T>(
  awaited: Promise<T>,
  method: string,
  { signal, timeoutMs, within, ending }: Patience,
  clock: Clock | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    checkTimeout(timeoutMs);
    const settled = new AbortController();
    for (const gone of [signal, within?.signal, ending?.signal]) {
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
