import type { Context } from "./context.ts";

/** Whether a call is over although its handler is not done: cancelled, timed out, or its caller is gone. */
export function hasEnded(context: Context): boolean {
  const { incoming } = context;
  // A context that something has wrapped may have a signal of its own.
  return incoming === context ? incoming.ended !== undefined : context.signal.aborted;
}

/** Runs when the call ends before its handler is done; without an AbortSignal, which costs as much as a short call. */
export function whenEnded(context: Context, run: () => void): void {
  const { incoming } = context;
  if (incoming === context) incoming.onEnded(run);
  else context.signal.addEventListener("abort", run, { once: true });
}
