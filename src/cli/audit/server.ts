import { type Context, defaultLimits, type Limits, type Middleware, type Server } from "callwire";
import { anonymousDestruction, type Finding, isDestructive, noAuthentication } from "./finding.ts";

const guards: Readonly<Record<string, Finding>> = {
  authentication: { severity: "high", ...noAuthentication },
  "rate limit": {
    severity: "medium",
    what: "no rate limit: one caller can take all there is",
    fix: "use: [rateLimit({ capacity: 200, perSecond: 100 })]",
  },
  "audit log": {
    severity: "low",
    what: "no audit log: nobody can tell later who called what",
    fix: 'use: [auditLog(auditFile("audit.log"))], as the first',
  },
  "error hygiene": {
    severity: "low",
    what: "internal errors carry no id by which the log has them",
    fix: "use: [discloseErrors()]",
  },
};

const noOverload: Finding = {
  severity: "low",
  what: "no load shedding: when it is too busy, all callers wait until it is too late",
  fix: "leave out overload: false",
};

/** What a server that is not running yet lacks. */
export function findingsOfServer(server: Server): Finding[] {
  const present = new Set(server.use.map((middleware) => middleware.guards));
  return [
    ...missingGuards(server.use),
    ...(server.answerer.settings.overload === undefined ? [noOverload] : []),
    ...methodFindings(server, present),
    ...limitFindings(server.limits),
  ];
}

export function missingGuards(use: readonly Middleware[]): Finding[] {
  const present = new Set(use.map((middleware) => middleware.guards));
  return Object.entries(guards).flatMap(([name, finding]) => (present.has(name) ? [] : [finding]));
}

/** Somebody far away, of whom nothing is known. */
const stranger = {
  principal: undefined,
  transport: { kind: "http", headers: {}, remoteAddress: "203.0.113.1" },
} as Partial<Context> as Context;

function methodFindings(server: Server, present: ReadonlySet<string | undefined>): Finding[] {
  const names = [...server.methods]
    .filter(([name, { definition }]) => isDestructive(name, definition.tags))
    .map(([name]) => name);
  const open = names.filter((name) => server.visible(name, stranger));
  if (open.length > 0) return [anonymousDestruction(open)];
  const unruled = names.filter((name) => server.methods.get(name)?.definition.access === undefined);
  if (unruled.length === 0 || present.has("authorization")) return [];
  return [
    {
      severity: "medium",
      what: `methods that destroy things, for whoever has any credential: ${unruled.join(", ")}`,
      fix: "give each of them access: { roles: [...] }, or add authorize(policy)",
    },
  ];
}

function limitFindings(limits: Limits): Finding[] {
  return Object.entries(limits).flatMap(([name, value]: [string, number]) => {
    const usual = defaultLimits[name as keyof Limits];
    if (value <= usual * 16) return [];
    return {
      severity: "medium" as const,
      what: `the limit ${name} is ${value}, and usually ${usual}`,
      fix: `leave limits.${name} out, or near its default`,
    };
  });
}
