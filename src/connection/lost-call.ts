import { ErrorCode, WireError } from "../protocol/errors.ts";
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
export function hasTaken(lost: WireError | undefined): boolean {
  return lost !== undefined && outcomeOf(lost) !== "did-not-run";
}

/** The failure with the code that it has for the call. */
export function toldAs(code: "CONNECTION_FAILED" | "CONNECTION_LOST", error: unknown): unknown {
  if (!(error instanceof WireError) || error.code === code) return error;
  const isOther = error.code === "CONNECTION_FAILED" || error.code === "CONNECTION_LOST";
  if (!isOther) return error;
  const { status } = error;
  return new WireError(code, error.message, {
    cause: error,
    ...(status === undefined ? undefined : { status }),
  });
}
