import type { CallContext } from "./context.ts";

/** What tells that a call is over: its context, or something with a signal. */
export interface Ending {
  readonly signal: AbortSignal;
  /** Itself, if it reports its end without a signal. */
  readonly incoming?: (Ending & ReportedEnd) | undefined;
}

type ReportedEnd = Pick<CallContext, "ended" | "onEnded">;

/** Whether a call is over although its handler is not done: cancelled, timed out, or its caller is gone. */
export function hasEnded(call: Ending): boolean {
  const { incoming } = call;
  // A context that something has wrapped may have a signal of its own.
  return incoming === call ? incoming.ended !== undefined : call.signal.aborted;
}

/** Runs when the call ends before its handler is done; without an AbortSignal, which costs as much as a short call. */
export function whenEnded(call: Ending, run: () => void): void {
  const { incoming } = call;
  if (incoming === call) incoming.onEnded(run);
  else call.signal.addEventListener("abort", run, { once: true });
}
