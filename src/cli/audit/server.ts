import { type Context, defaultLimits, type Limits, type Middleware, type Server } from "callwire";

export interface Finding {
  readonly severity: "high" | "medium" | "low";
  readonly what: string;
  readonly fix: string;
}

const destructive =
  /(^|[/._:-])(delete|destroy|drop|erase|exec|execute|format|kill|purge|remove|reset|revoke|rm|shutdown|truncate|uninstall|wipe)/i;
/** Within a name, such as `usersDelete`. */
const destructiveWord =
  /[a-z](Delete|Destroy|Drop|Erase|Kill|Purge|Remove|Reset|Revoke|Shutdown|Wipe)(?![a-z])/;

export function isDestructive(name: string, tags: readonly string[] = []): boolean {
  return tags.includes("destructive") || destructive.test(name) || destructiveWord.test(name);
}

export const noAuthentication = {
  what: "no authentication: everyone who can connect can call",
  fix: 'use: [authenticate(apiKeys(records))], from "callwire/security" and "callwire/security/keys"',
};

export const anyName: Finding = {
  severity: "medium",
  what: "accepts any Host header: a page can reach it by DNS rebinding",
  fix: 'list the host names: serveHttp(server, { hosts: ["api.example"] })',
};

export const anyOrigin: Finding = {
  severity: "high",
  what: "pages of any site can call it on behalf of their visitors",
  fix: 'list the origins of your pages: origins: ["https://app.example"]',
};

export function anonymousDestruction(names: readonly string[]): Finding {
  return {
    severity: "high",
    what: `destructive methods without authentication: ${names.join(", ")}`,
    fix: "set access: { roles: [...] } or access: { local: true } on each",
  };
}

const guards: Readonly<Record<string, Finding>> = {
  authentication: { severity: "high", ...noAuthentication },
  "rate limit": {
    severity: "medium",
    what: "no rate limit: one caller can use all resources",
    fix: "use: [rateLimit({ capacity: 200, perSecond: 100 })]",
  },
  "audit log": {
    severity: "low",
    what: "no audit log: calls cannot be traced to callers later",
    fix: 'use: [auditLog(auditFile("audit.log"))], as the first middleware',
  },
  "error hygiene": {
    severity: "low",
    what: "internal errors do not have an id to find them in the log",
    fix: "use: [discloseErrors()]",
  },
};

const noOverload: Finding = {
  severity: "low",
  what: "no load shedding: under overload, all callers wait",
  fix: "remove overload: false",
};

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

/** An anonymous caller on another machine. */
const anonymous = {
  principal: undefined,
  transport: { kind: "http", headers: {}, remoteAddress: "203.0.113.1" },
} as Partial<Context> as Context;

function methodFindings(server: Server, present: ReadonlySet<string | undefined>): Finding[] {
  const names = [...server.methods]
    .filter(([name, { definition }]) => isDestructive(name, definition.tags))
    .map(([name]) => name);
  const open = names.filter((name) => server.visible(name, anonymous));
  if (open.length > 0) return [anonymousDestruction(open)];
  const unprotected = names.filter(
    (name) => server.methods.get(name)?.definition.access === undefined,
  );
  if (unprotected.length === 0 || present.has("authorization")) return [];
  return [
    {
      severity: "medium",
      what: `destructive methods that every authenticated caller can use: ${unprotected.join(", ")}`,
      fix: "set access: { roles: [...] } on each, or add authorize(policy)",
    },
  ];
}

function limitFindings(limits: Limits): Finding[] {
  return Object.entries(limits).flatMap(([name, value]: [string, number]) => {
    const usual = defaultLimits[name as keyof Limits];
    if (value <= usual * 16) return [];
    return {
      severity: "medium" as const,
      what: `the limit ${name} is ${value}; the default is ${usual}`,
      fix: `remove limits.${name}, or set it near the default`,
    };
  });
}
