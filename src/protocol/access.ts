import { checkMembers } from "./known-members.ts";
import type { Principal, Transport } from "./origin.ts";

/** Restricts who may call a method. Every stated condition must hold. */
export interface AccessRule {
  /** The caller needs one of these roles. */
  readonly roles?: readonly string[];
  /** The caller needs all of these scopes. */
  readonly scopes?: readonly string[];
  /** The caller must be on this machine; for destructive methods. @default false */
  readonly local?: boolean;
}

const members = ["roles", "scopes", "local"];

/** Rejects a misspelt member, which would otherwise let everyone in. */
export function checkRule(rule: AccessRule, what: string, more: readonly string[] = []): void {
  if (typeof rule !== "object" || rule === null) throw new TypeError(`${what} must be an object`);
  checkMembers(rule, [...more, ...members], what);
  const { roles = [], scopes = [], local = false } = rule;
  if (Array.isArray(roles) && Array.isArray(scopes) && typeof local === "boolean") return;
  throw new TypeError(`${what} needs arrays for roles and scopes, and a boolean for local`);
}

/** Whether a rule admits this caller; an anonymous caller has no roles and no scopes. */
export function satisfies(
  { roles, scopes, local }: AccessRule,
  principal: Principal | undefined,
  transport: Transport,
): boolean {
  if (roles !== undefined && !roles.some((role) => has(principal?.roles, role))) return false;
  if (scopes !== undefined && !scopes.every((scope) => has(principal?.scopes, scope))) return false;
  return local !== true || isLocal(transport);
}

/** Requires an array: in a string, `includes` would find "operator" in "cooperator". */
function has(names: readonly string[] | undefined, name: string): boolean {
  return Array.isArray(names) && names.includes(name);
}

/** Transports that never leave this machine. */
const localKinds = new Set(["stdio", "unix", "worker", "memory"]);
const loopback = /^(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$|^::1$/;
/** Headers of proxies: behind a local proxy every caller has a loopback address. */
const proxied = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
];

/** Whether the caller is on this machine. A proxied request counts as remote. */
export function isLocal({ kind, remoteAddress, headers }: Transport): boolean {
  if (localKinds.has(kind)) return true;
  if (remoteAddress === undefined || !loopback.test(remoteAddress)) return false;
  return proxied.every((name) => headers[name] === undefined);
}
