import { ErrorCode, type RpcErrorOptions, type Undisclosed } from "../protocol/errors.ts";
import type { ErrorObject } from "../protocol/message.ts";
import { serverBusy } from "../protocol/standard-errors.ts";

/** The error of a refused call: what the caller gets, and a `reason` for the audit log that is not sent. */
export type Refusal = ErrorObject & RpcErrorOptions & Undisclosed;

export function unauthenticated(reason: string): Refusal {
  return { code: ErrorCode.Unauthenticated, message: "Unauthenticated", status: 401, reason };
}

export function forbidden(reason: string): Refusal {
  return { code: ErrorCode.Forbidden, message: "Forbidden", status: 403, reason };
}

export function rateLimited(retryAfterMs: number, reason: string): Refusal {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return {
    code: ErrorCode.RateLimited,
    message: "Rate limited",
    data: { ran: false, reason: "rate-limited", retryAfterMs: Math.ceil(retryAfterMs) },
    status: 429,
    headers: { "retry-after": `${seconds}` },
    reason,
  };
}

export function overloaded(reason: string): Refusal {
  return { ...serverBusy, reason };
}
