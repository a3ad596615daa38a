import { type AccessRule, checkRule, satisfies } from "../protocol/access.ts";
import type { Context } from "../protocol/context.ts";
import type { Handle, Middleware } from "../protocol/handle.ts";
import { failure } from "../protocol/message.ts";
import { nameMatcher } from "./globs.ts";
import { forbidden } from "./refusals.ts";

/** Which callers and methods a rule is about. All that is stated must hold. */
export interface PolicyRule extends AccessRule {
  /** Names and globs: `search/*` is one segment below, `system/**` all of them. */
  readonly methods: string | readonly string[];
  /** Ids of principals, agents among them; "*" is anybody who is known. @default everybody */
  readonly principals?: string | readonly string[];
}

/** Who may call what. A call needs a rule that allows it, and none that denies it. */
export interface Policy {
  /** A call must match at least one of these rules; an empty array refuses everything. */
  readonly allow: readonly PolicyRule[];
  /** Wins over whatever is allowed. */
  readonly deny?: readonly PolicyRule[];
  /** Joins the segments of names. @default "/" */
  readonly separator?: string;
}

type Applies = (method: string, context: Context) => boolean;

/**
 * Refuses what the policy does not allow. It looks at names only, so that a refusal does not tell
 * whether there is such a method. `rpc.discover` is allowed unless it is denied, since it shows what
 * its caller may call and nothing else.
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
