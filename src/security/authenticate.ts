import type { Context } from "../protocol/context.ts";
import type { RpcErrorOptions, Undisclosed } from "../protocol/errors.ts";
import { type Admit, type Handle, isRefusal, type Middleware } from "../protocol/handle.ts";
import { type ErrorObject, failure, isThenable, type MaybePromise } from "../protocol/message.ts";
import type { Origin, Principal, Transport } from "../protocol/origin.ts";
import { type Refusal, unauthenticated } from "./access-errors.ts";
import { type Credential, challenger } from "./credential.ts";
import { nameMatcher } from "./name-patterns.ts";

export interface AuthenticateOptions {
  /** Methods that need no credential, by name or glob; `true` for all. @default [] */
  readonly anonymous?: true | readonly string[];
  /**
   * Whether a connection may open without a credential; each of its calls is then checked, such as by
   * its signature. @default "authenticated", or "any" if some methods are anonymous
   */
  readonly connections?: "authenticated" | "any";
  /** The realm in `WWW-Authenticate`. @default "callwire" */
  readonly realm?: string;
  /** Separates the segments of method names. @default "/" */
  readonly separator?: string;
}

const challengeHeader = "www-authenticate";

const noPrincipal =
  "verify of a credential must return a principal with an id, undefined, or an error with a code";

type Decision = Principal | Refusal | undefined;

/**
 * Authenticates callers, once per connection or HTTP request. The first credential that is present
 * decides; a bad one is refused even for anonymous methods.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { authenticate, bearer, mutualTls } from "callwire/security";
 *
 * const sessions = new Map([["d2hhdCBhIHRva2Vu", { id: "ann", roles: ["member"] }]]);
 * const credentials = [bearer((token) => sessions.get(token)), mutualTls()];
 * const guarded = createServer(methods, {
 *   use: [authenticate(credentials, { anonymous: ["echo"] })],
 * });
 * ```
 */
export function authenticate(
  credentials: Credential | readonly Credential[],
  options: AuthenticateOptions = {},
): Middleware {
  const all: readonly Credential[] = Array.isArray(credentials) ? credentials : [credentials];
  if (!all.every((credential) => typeof credential?.verify === "function")) {
    throw new TypeError("authenticate needs credentials, such as bearer(verify)");
  }
  const { anonymous = [], realm = "callwire", separator } = options;
  const isAnonymous = anonymous === true ? () => true : nameMatcher(anonymous, separator);
  const { connections = isEmpty(anonymous) ? "authenticated" : "any" } = options;
  const challenge = challenger(all, realm);
  /** Adds the challenge to a 401 only: for other statuses another credential would not help. */
  const challenged = ({ status = 401, headers }: Refusal): RpcErrorOptions =>
    status === 401
      ? {
          status,
          headers: { ...headers, [challengeHeader]: challenge(headers?.[challengeHeader]) },
        }
      : { status };
  const refused = (error: Refusal): Refusal => ({
    ...error,
    code: error.code,
    message: error.message,
    ...challenged(error),
    reason: error.reason ?? sentReason(error) ?? "the credential is not valid",
  });
  const noCredential = refused(unauthenticated("no credential"));
  const expired = refused(unauthenticated("the credential has expired"));

  const finish = (decision: Principal | ErrorObject | undefined): Decision => {
    if (isRefusal(decision)) return refused(decision);
    // An Error without a code must not count as a principal.
    if (decision !== undefined && typeof decision.id !== "string") throw new TypeError(noPrincipal);
    return decision;
  };
  const judge = (transport: Transport): MaybePromise<Decision> => {
    const decision = firstOf(all, transport, 0);
    return isThenable(decision) ? decision.then(finish) : finish(decision);
  };

  /** Decisions without a principal; a principal is kept in the origin itself. */
  const kept = new WeakMap<Origin, MaybePromise<Decision>>();
  const decisionOn = (context: Context): MaybePromise<Decision> => {
    const origin = originOf(context);
    if (origin === undefined) return judge(context.transport);
    if (kept.has(origin)) return kept.get(origin);
    const decision = judge(context.transport);
    if (decision === undefined || isThenable(decision) || isRefusal(decision)) {
      kept.set(origin, decision);
    }
    return decision;
  };

  const wrap = (next: Handle): Handle => {
    const proceed: (decision: Decision, ...call: Parameters<Handle>) => ReturnType<Handle> = (
      decision,
      request,
      context,
    ) => {
      if (decision === undefined) {
        return isAnonymous(request.method) ? next(request, context) : failure(noCredential);
      }
      if (isRefusal(decision)) {
        const { method, log } = context;
        log.debug({ method, reason: decision.reason }, "credential refused");
        return failure(decision);
      }
      if (isExpired(decision)) return failure(expired);
      const origin = originOf(context);
      if (origin === undefined) context.principal = decision;
      else origin.principal = decision;
      return next(request, context);
    };
    return (request, context) => {
      const { principal } = context;
      if (principal !== undefined) {
        return isExpired(principal) ? failure(expired) : next(request, context);
      }
      const decision = decisionOn(context);
      return isThenable(decision)
        ? decision.then((found) => proceed(found, request, context))
        : proceed(decision, request, context);
    };
  };

  const admit = (next: Admit): Admit => {
    const decide = (decision: Decision, transport: Transport): ReturnType<Admit> => {
      if (isRefusal(decision)) return decision;
      if (decision === undefined && connections === "authenticated") return noCredential;
      const rest = next(transport);
      return isThenable(rest)
        ? rest.then((other) => (isRefusal(other) ? other : (decision ?? other)))
        : isRefusal(rest)
          ? rest
          : (decision ?? rest);
    };
    return (transport) => {
      const decision = judge(transport);
      return isThenable(decision)
        ? decision.then((found) => decide(found, transport))
        : decide(decision, transport);
    };
  };

  const visible = (method: string, { principal }: Context): boolean =>
    principal !== undefined || isAnonymous(method);
  // Callers that need no credential are not asked for one.
  const schemes = anonymous === true ? [] : all.flatMap(({ scheme }) => scheme ?? []);
  return Object.assign(wrap, { admit, visible, guards: "authentication", schemes });
}

/** The `data.reason` that some credentials send to the caller. */
function sentReason({ data }: ErrorObject): string | undefined {
  const { reason } = (data ?? {}) as { readonly reason?: unknown };
  return typeof reason === "string" ? reason : undefined;
}

function isEmpty(anonymous: true | readonly string[]): boolean {
  return anonymous !== true && anonymous.length === 0;
}

/** Undefined if several callers share the origin, which then cannot hold a principal. */
function originOf(context: Context): Origin | undefined {
  return context.transport.kind === "direct" ? undefined : context.incoming?.origin;
}

function isExpired({ expiresAt }: Principal): boolean {
  return expiresAt !== undefined && expiresAt <= Date.now();
}

/** The decision of the first credential that is present. */
function firstOf(
  credentials: readonly Credential[],
  transport: Transport,
  from: number,
): MaybePromise<Principal | (ErrorObject & RpcErrorOptions & Undisclosed) | undefined> {
  for (let i = from; i < credentials.length; i++) {
    const decision = credentials[i]?.verify(transport) ?? undefined;
    if (isThenable(decision)) {
      return decision.then((found) => found ?? firstOf(credentials, transport, i + 1));
    }
    if (decision !== undefined) return decision;
  }
  return undefined;
}
