import { ErrorCode } from "./errors.ts";
import type { ErrorObject } from "./message.ts";

/** Why a call failed, as a program reads it. More reasons may be added; treat an unknown one as final. */
export type FailureReason =
  /** -32005: too many calls or connections, or too much memory in use. */
  | "busy"
  /** -32006: the server is shutting down. */
  | "stopping"
  /** -32003: the caller's time was up before the call could start. */
  | "expired"
  /** -32010: the caller exceeded its rate. */
  | "rate-limited"
  /** -32009: no server behind the gateway is available. */
  | "unavailable"
  /** -32009: the gateway lost its connection to the server. */
  | "connection-lost"
  /** -32009: the call or its reply is too large for the gateway. */
  | "too-large"
  /** -32009: the server answered with an HTTP status instead of a reply. */
  | "http-status"
  /** -32009: the transport to the server cannot carry this call. */
  | "unsupported"
  /** -32009: the server answered with something that is not a valid reply. */
  | "bad-reply"
  /** -32600: no service is mounted at this path. */
  | "not-found";

/** `error.data` of a call that failed for a reason outside its method. */
export interface CallFailure {
  /** Whether the method ran, at least in part; "unknown" if the connection broke while the call was open. */
  readonly ran: boolean | "unknown";
  readonly reason: FailureReason;
  /** How long to wait before the next attempt. */
  readonly retryAfterMs?: number;
  /** A sentence for people. */
  readonly details?: string;
}

/** `error.data` of a message (-32600) that exceeds a limit. Its calls did not run, unless only its files were longer than announced. */
export interface LimitExceeded {
  readonly limit: "maxMessageBytes" | "maxBatch" | "maxFiles" | "maxFileBytes";
  readonly max: number;
  /** A sentence for people. */
  readonly details: string;
}

/** What `error.data` holds for programs. The message and `details` are for people and may change. */
export type FailureData = CallFailure | LimitExceeded;

/** The limit that an error reports, if it does. */
export function limitIn(error: ErrorObject): LimitExceeded | undefined {
  const data = error.data as Partial<LimitExceeded> | null | undefined;
  const isKnown = data?.limit === "maxMessageBytes" || data?.limit === "maxBatch";
  const isLimit = error.code === ErrorCode.InvalidRequest && isKnown;
  return isLimit && typeof data.max === "number" ? (data as LimitExceeded) : undefined;
}

/** The `data` of an error if it has the members of `CallFailure`; errors of other servers have not. */
export function callFailureIn(error: unknown): CallFailure | undefined {
  const { data } = (error ?? {}) as { readonly data?: Partial<CallFailure> | null };
  const { ran, reason } = data ?? {};
  const isKnown = (typeof ran === "boolean" || ran === "unknown") && typeof reason === "string";
  return isKnown ? (data as CallFailure) : undefined;
}
