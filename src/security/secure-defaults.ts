import type { Middleware } from "../protocol/handle.ts";
import type { Limits } from "../protocol/limits.ts";
import { type AuditLogOptions, type AuditSink, auditLog } from "./audit-log.ts";
import { type AuthenticateOptions, authenticate } from "./authenticate.ts";
import { authorize, type Policy } from "./authorize.ts";
import type { Credential } from "./credential.ts";
import { type DiscloseErrorsOptions, discloseErrors } from "./disclose-errors.ts";
import type { Bucket, LimitStore } from "./limit-store.ts";
import { rateLimit } from "./rate-limit.ts";
import { shedLoad } from "./shed-load.ts";

export interface SecureDefaultsOptions extends AuthenticateOptions {
  /** How callers prove who they are; the first credential that is present decides. */
  readonly credentials: Credential | readonly Credential[];
  /** Who may call what, by names of methods. @default whoever is known may call everything that its contract allows them */
  readonly policy?: Policy;
  /** Where the audit log is written. @default standard error, as one line of JSON per decision */
  readonly audit?: AuditSink;
  /** Settings of the audit log. @default every decision, and calls go on if it cannot be written */
  readonly auditOptions?: AuditLogOptions;
  /** What one address may do. @default 200 calls at once, 100 more per second */
  readonly perAddress?: Bucket;
  /** What one principal may do. @default 400 calls at once, 200 more per second */
  readonly perPrincipal?: Bucket;
  /** What calls cost, by names and globs. @default 1 each */
  readonly costs?: Readonly<Record<string, number>>;
  /** Where rate limits are kept. @default in this process */
  readonly limitStore?: LimitStore;
  /** Who learns what of internal errors. @default nobody gets more than a correlation id */
  readonly errors?: DiscloseErrorsOptions;
  /** How late the event loop may be before calls are refused. @default 200 */
  readonly maxLagMs?: number;
}

/**
 * All guards in the order in which they belong: `createServer(methods, secureDefaults({ credentials }))`.
 * Only what it is given decides who may call; there is no default for that.
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
  const { maxLagMs = 200 } = options;
  return {
    use: [
      auditLog(audit, options.auditOptions),
      discloseErrors(options.errors),
      shedLoad({ maxLagMs }),
      rateLimit({ by: "address", ...address, ...shared }),
      authenticate(credentials, options),
      ...(policy === undefined ? [] : [authorize({ ...separated, ...policy })]),
      rateLimit({ by: "principal", ...principal, ...shared }),
    ],
    limits: { maxInFlight: 256 },
  };
}

/** The console ends each line itself. */
function toStandardError(line: string): void {
  console.error(line.trimEnd());
}
