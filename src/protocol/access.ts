import type { Principal, Transport } from "./origin.ts";

/** Who may call a method. All that is stated must hold. */
export interface AccessRule {
  /** The caller has one of these. */
  readonly roles?: readonly string[];
  /** The caller has all of these. */
  readonly scopes?: readonly string[];
  /** The caller is on this machine; for methods that destroy things. @default false */
  readonly local?: boolean;
}

const members = ["roles", "scopes", "local"];

/** Refuses a rule that types would have refused: a member that is misspelt would let everybody in. */
export function checkRule(rule: AccessRule, what: string, more: readonly string[] = []): void {
  if (typeof rule !== "object" || rule === null) throw new TypeError(`${what} is no object`);
  for (const name of Object.keys(rule)) {
    if (members.includes(name) || more.includes(name)) continue;
    throw new TypeError(`${what} knows ${[...more, ...members].join(", ")}, and no "${name}"`);
  }
  const { roles = [], scopes = [], local = false } = rule;
  if (Array.isArray(roles) && Array.isArray(scopes) && typeof local === "boolean") return;
  throw new TypeError(`${what} has roles and scopes that are lists, and local is true or false`);
}

/** Whether a rule lets somebody in; nobody in particular has no roles and no scopes. */
export function satisfies(
  { roles, scopes, local }: AccessRule,
  principal: Principal | undefined,
  transport: Transport,
): boolean {
  if (roles !== undefined && !roles.some((role) => has(principal?.roles, role))) return false;
  if (scopes !== undefined && !scopes.every((scope) => has(principal?.scopes, scope))) return false;
  return local !== true || isLocal(transport);
}

/** Claims may come as one text, which includes whatever is a part of it: "cooperator" is no "operator". */
function has(names: readonly string[] | undefined, name: string): boolean {
  return Array.isArray(names) && names.includes(name);
}

/** Wires that do not leave the machine. */
const localKinds = new Set(["stdio", "unix", "worker", "memory"]);
const loopback = /^(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$|^::1$/;
/** Behind a proxy on this machine everybody's address is its own. */
const proxied = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
];

/** Whether a caller is on this machine. Whatever came through a proxy is not, as far as we can tell. */
export function isLocal({ kind, remoteAddress, headers }: Transport): boolean {
  if (localKinds.has(kind)) return true;
  if (remoteAddress === undefined || !loopback.test(remoteAddress)) return false;
  return proxied.every((name) => headers[name] === undefined);
}
