import { ErrorCode, isExactly, shuttingDown, WireError } from "../protocol/errors.ts";
import type { Outgoing } from "../protocol/link.ts";
import type { Reply } from "../protocol/message.ts";
import type { Envelope } from "../protocol/parse.ts";
import { errorText } from "../protocol/serialize.ts";

/**
 * The last word of an end that has answered all that it took: whatever has no answer now did not run. Without it
 * nobody could tell a call that came too late from one that was lost while it ran.
 */
export const farewell: string = /* @__PURE__ */ errorText("2.0", "null", shuttingDown);

export function isFarewell(message: Envelope): boolean {
  return isExactly(unnamedError(message), shuttingDown);
}

/** Of a reply that names no call. */
function unnamedError(message: Envelope): { readonly code?: unknown } | undefined {
  const { id, error } = message as Envelope & { readonly error?: { readonly code?: unknown } };
  return id === null || id === undefined ? error : undefined;
}

const turnsAway: ReadonlySet<unknown> = /* @__PURE__ */ new Set([
  ErrorCode.Unauthenticated,
  ErrorCode.Forbidden,
  ErrorCode.ServerBusy,
  ErrorCode.RateLimited,
]);

/** Whether this, as the first word of the other end, says that it lets nobody in who comes this way: it is about all calls. */
export function isTurnedAway(message: Envelope): boolean {
  return turnsAway.has(unnamedError(message)?.code);
}

/** Why an answered call is sent again: a server that is stopping has not taken it, or has ended what may begin anew. */
export function stoppedBefore(
  reply: Reply | undefined,
  { idempotent }: Outgoing,
): WireError | undefined {
  const error = reply?.error;
  if (error?.code !== ErrorCode.ShuttingDown) return undefined;
  if (isExactly(error, shuttingDown)) return new NotTaken();
  return idempotent ? new WireError("CONNECTION_LOST", error.message) : undefined;
}

/** The other end went away before it took the call, so that it may be sent again, whatever it does. */
export class NotTaken extends WireError {
  constructor() {
    super("CONNECTION_FAILED", "the other end is shutting down; the call did not run");
  }
}
