import type { Envelope } from "../protocol/envelope.ts";
import { ErrorCode, WireError } from "../protocol/errors.ts";
import { callFailureIn } from "../protocol/failure-data.ts";
import type { Outgoing } from "../protocol/link.ts";
import type { ErrorObject } from "../protocol/message.ts";
import { errorText } from "../protocol/reply-text.ts";
import { isStopping, maySendAgain, outcomeOf } from "../protocol/retry-rule.ts";
import { shuttingDown } from "../protocol/standard-errors.ts";

/**
 * The last message of a peer that has answered every call it started: calls without a reply did not run. Without it a
 * caller could not tell a call that came too late from one that was lost while it ran.
 */
export const shutdownNotice: string = /* @__PURE__ */ errorText("2.0", "null", shuttingDown);

export function isShutdownNotice(message: Envelope): boolean {
  const error = errorWithoutId(message);
  return isStopping(error) && callFailureIn(error)?.ran === false;
}

function errorWithoutId(message: Envelope): { readonly code?: unknown } | undefined {
  const { id, error } = message as Envelope & { readonly error?: { readonly code?: unknown } };
  return id === null || id === undefined ? error : undefined;
}

const rejections: ReadonlySet<unknown> = /* @__PURE__ */ new Set([
  ErrorCode.Unauthenticated,
  ErrorCode.Forbidden,
  ErrorCode.ServerBusy,
  ErrorCode.RateLimited,
]);

/** Whether this message, if it is the first of a connection, rejects the connection and so all of its calls. */
export function isRejection(message: Envelope): boolean {
  return rejections.has(errorWithoutId(message)?.code);
}

/** Why a call that a stopping server answered may be sent again; undefined if it may not. */
export function stoppedBefore(error: ErrorObject, outgoing: Outgoing): WireError | undefined {
  if (!isStopping(error)) return undefined;
  const outcome = outcomeOf(error);
  if (!maySendAgain(outcome, outgoing)) return undefined;
  return outcome === "did-not-run"
    ? new NotTaken()
    : new WireError("CONNECTION_LOST", error.message);
}

/** The peer shut down before it started the call. */
export class NotTaken extends WireError {
  constructor() {
    super("CONNECTION_FAILED", "the peer is shutting down; the call did not run");
  }
}
