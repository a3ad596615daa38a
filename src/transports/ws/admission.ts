import type { MaybePromise } from "../../protocol/message.ts";
import type { Principal } from "../../protocol/origin.ts";

/** Lets a request in, and says who calls. */
export interface Admitted {
  readonly principal?: Principal | undefined;
}

/** Answers the request with a status instead of the upgrade. */
export interface Refused {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AdmissionOptions<Request> {
  /** Most connections at the same time; more are refused with 503. Stops exhaustion of sockets. @default 1000 */
  readonly maxConnections?: number;
  /** Decides before the upgrade who may connect. */
  readonly verify?: (request: Request) => MaybePromise<Admitted | Refused | undefined>;
}

export const defaultMaxConnections = 1000;

export function isRefused(verdict: Admitted | Refused | undefined): verdict is Refused {
  return verdict !== undefined && "status" in verdict;
}

export const full: Refused = {
  status: 503,
  message: "Too many connections",
  headers: { "retry-after": "1" },
};

export const closing: Refused = {
  status: 503,
  message: "Server is shutting down",
  headers: { "retry-after": "1" },
};

export const failed: Refused = { status: 500, message: "Internal error" };
