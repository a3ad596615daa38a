import type { Middleware } from "../protocol/handle.ts";
import type { Limits } from "../protocol/limits.ts";
import type { OverloadOptions } from "../protocol/overload.ts";
import { type AuditLogOptions, type AuditSink, auditLog } from "./audit-log.ts";
import { type AuthenticateOptions, authenticate } from "./authenticate.ts";
import { authorize, type Policy } from "./authorize.ts";
import type { Credential } from "./credential.ts";
import { type DiscloseErrorsOptions, discloseErrors } from "./disclose-errors.ts";
import type { Bucket, LimitStore } from "./limit-store.ts";
import { rateLimit } from "./rate-limit.ts";

export interface SecureDefaultsOptions extends AuthenticateOptions {
  /** How callers authenticate. */
  readonly credentials: Credential | readonly Credential[];
  /** Who may call what. @default authenticated callers may call everything that the contract allows */
  readonly policy?: Policy;
  /** Takes the lines of the audit log. @default standard error, one line of JSON per decision */
  readonly audit?: AuditSink;
  /** Options of the audit log. @default all decisions, not fail-closed */
  readonly auditOptions?: AuditLogOptions;
  /** Rate limit of one address. @default 200 calls at once, 100 more per second */
  readonly perAddress?: Bucket;
  /** Rate limit of one principal. @default 400 calls at once, 200 more per second */
  readonly perPrincipal?: Bucket;
  /** Tokens per call, by method name or glob. @default 1 each */
  readonly costs?: Readonly<Record<string, number>>;
  /** Where rate limits are kept. @default memoryLimits() */
  readonly limitStore?: LimitStore;
  /** What callers see of internal errors. @default only the id of the log entry */
  readonly errors?: DiscloseErrorsOptions;
  /** How late the event loop may be before calls are refused, as `overload` of the server. @default 100 */
  readonly maxLagMs?: number;
}

/**
 * All guards in the right order: `createServer(methods, secureDefaults({ credentials }))`. Who may call
 * has no default: it depends on the given credentials and policy.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { serveHttp } from "callwire/http/node";
 * import { secureDefaults } from "callwire/security";
 * import { apiKeys } from "callwire/security/keys";
 *
 * const credentials = apiKeys([{ id: "ci", hash: "…" }]); // as `callwire keys create` prints it
 * await serveHttp(createServer(methods, secureDefaults({ credentials })));
 * ```
 */
export function secureDefaults(options: SecureDefaultsOptions): {
  readonly use: readonly Middleware[];
  readonly limits: Partial<Limits>;
  readonly overload: OverloadOptions;
} {
  if (options?.credentials === undefined) {
    throw new TypeError("secureDefaults needs credentials: { credentials: bearer(verify) }");
  }
  const { credentials, policy, audit = toStandardError, costs, limitStore } = options;
  const separated = options.separator === undefined ? undefined : { separator: options.separator };
  const shared = {
    ...separated,
    ...(costs === undefined ? undefined : { costs }),
    ...(limitStore === undefined ? undefined : { store: limitStore }),
  };
  const address = options.perAddress ?? { capacity: 200, perSecond: 100 };
  const principal = options.perPrincipal ?? { capacity: 400, perSecond: 200 };
  return {
    use: [
      auditLog(audit, options.auditOptions),
      discloseErrors(options.errors),
      rateLimit({ by: "address", ...address, ...shared }),
      authenticate(credentials, options),
      ...(policy === undefined ? [] : [authorize({ ...separated, ...policy })]),
      rateLimit({ by: "principal", ...principal, ...shared }),
    ],
    limits: { maxInFlight: 256 },
    overload: options.maxLagMs === undefined ? {} : { maxDelayMs: options.maxLagMs },
  };
}

/** The console adds the line feed itself. */
function toStandardError(line: string): void {
  console.error(line.trimEnd());
}
