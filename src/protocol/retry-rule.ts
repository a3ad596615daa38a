import { ErrorCode, WireError, type WireErrorCode } from "./errors.ts";
import { callFailureIn } from "./failure-data.ts";
import type { ErrorObject, Reply } from "./message.ts";

/**
 * What a failure means for sending the call again:
 * - "did-not-run": it may always be sent again.
 * - "may-have-run": it may be sent again if it is idempotent.
 * - "final": another attempt would fail the same way, or the caller gave up.
 */
export type Outcome = "did-not-run" | "may-have-run" | "final";

/** Failures that are temporary for this caller, besides those that are for all. */
export interface AlsoTemporary {
  readonly codes?: readonly WireErrorCode[];
  readonly statuses?: readonly number[];
}

/** Reasons that pass, each with its code: in errors of other servers the same word may mean anything. */
const temporary: Readonly<Record<string, number>> = {
  busy: ErrorCode.ServerBusy,
  stopping: ErrorCode.ShuttingDown,
  unavailable: ErrorCode.UpstreamFailed,
  "connection-lost": ErrorCode.UpstreamFailed,
};

/** What a `WireError`, or the error of a reply, means for sending the call again. */
export function outcomeOf(failure: unknown, also: AlsoTemporary = {}): Outcome {
  if (failure instanceof WireError) return wireOutcome(failure, also);
  const { ran, reason = "" } = callFailureIn(failure) ?? {};
  const isTemporary =
    Object.hasOwn(temporary, reason) &&
    temporary[reason] === (failure as { readonly code?: unknown }).code;
  if (!isTemporary) return "final";
  return ran === false ? "did-not-run" : "may-have-run";
}

function wireOutcome({ code, status = 0 }: WireError, also: AlsoTemporary): Outcome {
  if (code === "CONNECTION_FAILED") return "did-not-run";
  const isTemporary =
    code === "CONNECTION_LOST" ||
    also.codes?.includes(code) ||
    // 502 and above come from a proxy in front of the server; 500 and 501 from the server itself.
    (code === "HTTP_STATUS" && (status >= 502 || also.statuses?.includes(status)));
  return isTemporary ? "may-have-run" : "final";
}

/** What matters about a call for sending it again. */
export interface Repeatable {
  readonly idempotent: boolean;
  readonly upload?: { readonly begun: boolean } | undefined;
}

/** Whether a call that failed may be sent again, here or elsewhere. Items of an upload cannot be taken twice. */
export function maySendAgain(outcome: Outcome, { idempotent, upload }: Repeatable): boolean {
  if (upload?.begun) return false;
  return outcome === "did-not-run" || (outcome === "may-have-run" && idempotent);
}

/** Whether the server is shutting down, so that another one, or the same after its restart, may take the call. */
export function isStopping(failure: unknown): boolean {
  return outcomeOf(failure) !== "final" && callFailureIn(failure)?.reason === "stopping";
}

/** The failure with the code that it has for the call. */
export function reportedAs(code: "CONNECTION_FAILED" | "CONNECTION_LOST", error: unknown): unknown {
  if (!(error instanceof WireError) || error.code === code) return error;
  const isOther = error.code === "CONNECTION_FAILED" || error.code === "CONNECTION_LOST";
  if (!isOther) return error;
  return new WireError(code, error.message, { cause: error, status: error.status });
}

/** The failure to report after two attempts: one that may have run must not be reported as not run. */
export function worseOf<T>(first: T, next: T): T {
  return outcomeOf(first) === "may-have-run" && didNotRun(next) ? first : next;
}

/** The reply to the last attempt: if an earlier one may have run, it must not say that the call did not run. */
export function replyAfter(mayHaveRun: boolean, reply: Reply | undefined): Reply | undefined {
  if (!mayHaveRun || reply === undefined || !didNotRun(reply.error)) return reply;
  const error = reply.error as ErrorObject;
  return { ...reply, error: { ...error, data: { ...(error.data as object), ran: "unknown" } } };
}

/** Whether the call certainly did not run, even if sending it again would fail the same way. */
export function didNotRun(failure: unknown): boolean {
  return outcomeOf(failure) === "did-not-run" || callFailureIn(failure)?.ran === false;
}
