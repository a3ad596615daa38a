import { type AccessRule, checkRule, satisfies } from "../protocol/access.ts";
import type { Context } from "../protocol/context.ts";
import type { Handle, Middleware } from "../protocol/handle.ts";
import { failure } from "../protocol/message.ts";
import { forbidden } from "./access-errors.ts";
import { nameMatcher } from "./name-patterns.ts";

/** The callers and methods that a rule matches. All stated conditions must hold. */
export interface PolicyRule extends AccessRule {
  /** Names and globs: `search/*` matches one segment below, `system/**` any number. */
  readonly methods: string | readonly string[];
  /** Ids of principals; "*" matches any authenticated caller. @default all callers, also anonymous ones */
  readonly principals?: string | readonly string[];
}

/** Who may call what. A call needs a rule that allows it and no rule that denies it. */
export interface Policy {
  /** Rules that allow calls; what no rule allows is refused. */
  readonly allow: readonly PolicyRule[];
  /** Rules that deny calls, whatever is allowed. @default [] */
  readonly deny?: readonly PolicyRule[];
  /** Separates the segments of method names. @default "/" */
  readonly separator?: string;
}

type Applies = (method: string, context: Context) => boolean;

/**
 * Refuses what the policy does not allow. It looks only at names, so a refusal does not reveal whether
 * the method exists. `rpc.discover` is allowed unless denied, since it lists only what the caller may call.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { authorize } from "callwire/security";
 *
 * const policy = authorize({
 *   allow: [{ methods: ["echo", "math/*"] }, { methods: "system/**", roles: ["operator"] }],
 *   deny: [{ methods: "math/count", principals: "batch-job" }],
 * });
 * const guarded = createServer(methods, { use: [policy] }); // after authenticate(…)
 * ```
 */
export function authorize({ allow, deny = [], separator = "/" }: Policy): Middleware {
  const allowed = allow.map((rule) => compile(rule, separator));
  const denied = deny.map((rule) => compile(rule, separator));
  const byDenial = failure(forbidden("the policy denies it"));
  const byDefault = failure(forbidden("the policy does not allow it"));
  const refusal: (method: string, context: Context) => typeof byDenial | undefined = (
    method,
    context,
  ) => {
    if (denied.some((applies) => applies(method, context))) return byDenial;
    if (method === "rpc.discover" || allowed.some((applies) => applies(method, context))) {
      return undefined;
    }
    return byDefault;
  };
  const wrap =
    (next: Handle): Handle =>
    (request, context) =>
      refusal(request.method, context) ?? next(request, context);
  const visible = (method: string, context: Context): boolean =>
    refusal(method, context) === undefined;
  return Object.assign(wrap, { visible, guards: "authorization" });
}

function compile(rule: PolicyRule, separator: string): Applies {
  checkRule(rule, "a rule of a policy", ["methods", "principals"]);
  const { methods, principals, roles, scopes, local } = rule;
  const isNamed = nameMatcher(listOf(methods), separator);
  const ids = principals === undefined ? undefined : new Set(listOf(principals));
  const isPlain = roles === undefined && scopes === undefined && local !== true;
  return (method, context) => {
    if (!isNamed(method)) return false;
    const { principal } = context;
    if (ids !== undefined) {
      if (principal === undefined || !(ids.has(principal.id) || ids.has("*"))) return false;
    }
    return isPlain || satisfies(rule, principal, context.transport);
  };
}

function listOf(value: string | readonly string[]): readonly string[] {
  return typeof value === "string" ? [value] : value;
}
