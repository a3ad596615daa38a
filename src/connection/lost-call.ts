import { ErrorCode, type WireError } from "../protocol/errors.ts";
import { type AlsoTemporary, outcomeOf } from "../protocol/retry-rule.ts";

/** The link is still open, so another user of the connection closed it. */
export const connectionClosed: AlsoTemporary = { codes: ["CLOSED"] };

/** Whether the server refused the caller, and would refuse the same credentials again. */
export function isDenied(error: unknown): boolean {
  const { status, code } = (error ?? {}) as { readonly status?: unknown; readonly code?: unknown };
  return status === 403 || code === ErrorCode.Forbidden || isUnauthenticated(error);
}

/** Whether other credentials may help. */
export function isUnauthenticated(error: unknown): boolean {
  const { status, code } = (error ?? {}) as { readonly status?: unknown; readonly code?: unknown };
  return status === 401 || code === ErrorCode.Unauthenticated;
}

/** Whether the call that failed this way may have run. */
export function couldHaveRun(lost: WireError): boolean {
  return outcomeOf(lost) !== "did-not-run";
}
