import type { MaybePromise } from "../../protocol/message.ts";
import type { Principal } from "../../protocol/origin.ts";
import type { Service } from "../../protocol/service.ts";

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

/** Asks whether a request may come in; while the service closes, none may. */
export async function admit<Request>(
  service: Service,
  { verify }: AdmissionOptions<Request>,
  request: Request,
): Promise<Admitted | Refused> {
  let verdict: Admitted | Refused | undefined;
  try {
    verdict = await verify?.(request);
  } catch (error) {
    service.log.error({ err: error }, "verifying a WebSocket failed");
    return { status: 500, message: "Internal error" };
  }
  return service.answerer.draining ? closing : (verdict ?? {});
}

export function isRefused(verdict: Admitted | Refused): verdict is Refused {
  return "status" in verdict;
}

const closing: Refused = {
  status: 503,
  message: "Server is shutting down",
  headers: { "retry-after": "1" },
};

export const full: Refused = { ...closing, message: "Too many connections" };
