import type { RpcErrorOptions } from "../../protocol/errors.ts";
import { isRefusal } from "../../protocol/handle.ts";
import type { HostCheck, HostCheckOptions, RequestSource } from "../../protocol/host-check.ts";
import { limitOf } from "../../protocol/limits.ts";
import type { ErrorObject, MaybePromise } from "../../protocol/message.ts";
import type { Principal, Transport } from "../../protocol/origin.ts";
import { errorText } from "../../protocol/reply-text.ts";
import type { Service } from "../../protocol/service.ts";
import { invalidRequest } from "../../protocol/standard-errors.ts";

/** Accepts a request, and names the caller. */
export interface Admitted {
  readonly principal?: Principal | undefined;
}

/** Refuses a request with an HTTP status instead of the upgrade. */
export interface Refused {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A browser does not tell its page why an upgrade was refused, so the page is connected, told, and disconnected. */
export interface RefusedPage {
  readonly error: ErrorObject;
}

export interface AdmissionOptions<Request> extends HostCheckOptions {
  /** Most connections at the same time; more are refused with 503. Stops exhaustion of sockets. @default 1000 */
  readonly maxConnections?: number;
  /** Decides before the upgrade who may connect; if it names a principal, middleware is not asked. @default none */
  readonly verify?: (request: Request) => MaybePromise<Admitted | Refused | undefined>;
}

export function mostConnections({ maxConnections = 1000 }: AdmissionOptions<never>): number {
  return limitOf("maxConnections", maxConnections);
}

/** Decides about an upgrade request; during shutdown none is accepted. */
export async function admit<Request>(
  service: Service,
  access: HostCheck,
  { verify }: AdmissionOptions<Request>,
  request: Request,
  transport: Transport,
): Promise<Admitted | Refused | RefusedPage> {
  const sentence = access.refusal(sourceOf(transport));
  // Any page can open a WebSocket, and the browser adds its visitor's cookies.
  if (sentence !== undefined) return refusedBy(invalidRequest(sentence));
  let decision: Admitted | Refused | undefined;
  try {
    decision = await verify?.(request);
    checkDecision(decision);
  } catch (error) {
    service.log.error({ err: error }, "the verify option threw");
    return { status: 500, message: "Internal error" };
  }
  if (service.answerer.draining) return closing;
  if (decision !== undefined && (isRefused(decision) || decision.principal !== undefined)) {
    return decision;
  }
  const judged = await service.admit?.(transport);
  if (!isRefusal(judged)) return { principal: judged };
  const { origin } = transport.headers;
  return origin === undefined ? refusedBy(judged) : { error: judged };
}

/** A bare boolean is ambiguous, and a refusal needs a message. */
function checkDecision(decision: unknown): void {
  const { status, message, principal } = Object(decision) as Partial<Admitted & Refused>;
  const isComplete = status === undefined ? principal !== null : typeof message === "string";
  if (decision === undefined || (isComplete && typeof decision === "object" && decision !== null))
    return;
  throw new TypeError("verify must return undefined, { principal } or { status, message }");
}

function sourceOf({ headers }: Transport): RequestSource {
  const { host, origin, "sec-fetch-site": site } = headers;
  return { host: one(host), origin: one(origin), site: one(site) };
}

/** A repeated header matches no rule. */
function one(value: string | readonly string[] | undefined): string | undefined {
  return value === undefined || typeof value === "string" ? value : value.join();
}

function refusedBy(error: ErrorObject & RpcErrorOptions): Refused {
  return {
    status: error.status ?? 403,
    message: errorText("2.0", "null", error),
    headers: { "content-type": "application/json", ...error.headers },
  };
}

export function isRefused(decision: object): decision is Refused {
  return "status" in decision;
}

const closing: Refused = {
  status: 503,
  message: "Server is shutting down",
  headers: { "retry-after": "1" },
};

export const full: Refused = { ...closing, message: "Too many connections" };
