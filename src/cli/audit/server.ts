import { type Context, defaultLimits, type Limits, type Middleware, type Server } from "callwire";

/** Something that a server lacks, and how to mend it. */
export interface Finding {
  readonly severity: "high" | "medium" | "low";
  readonly what: string;
  readonly fix: string;
}

const destructive =
  /(^|[/._:-])(delete|destroy|drop|erase|exec|execute|format|kill|purge|remove|reset|revoke|rm|shutdown|truncate|uninstall|wipe)/i;
/** Also within a name, as in `usersDelete`. */
const destructiveWord =
  /[a-z](Delete|Destroy|Drop|Erase|Kill|Purge|Remove|Reset|Revoke|Shutdown|Wipe)(?![a-z])/;

/** By its name, or because it says so. */
export function isDestructive(name: string, tags: readonly string[] = []): boolean {
  return tags.includes("destructive") || destructive.test(name) || destructiveWord.test(name);
}

export const noAuthentication = {
  what: "no authentication: whoever reaches it may call",
  fix: 'use: [authenticate(apiKeys(records))], from "callwire/security" and "callwire/security/keys"',
};

export const anyName: Finding = {
  severity: "medium",
  what: "it goes by any name: a page can reach it by rebinding a name of its own",
  fix: 'list its names: serveHttp(server, { hosts: ["api.example"] })',
};

export const anyOrigin: Finding = {
  severity: "high",
  what: "pages of any site may call it on behalf of their visitors",
  fix: 'list the origins of your own pages: origins: ["https://app.example"]',
};

export function anonymousDestruction(names: readonly string[]): Finding {
  return {
    severity: "high",
    what: `methods that destroy things and need no credential: ${names.join(", ")}`,
    fix: "give each of them access: { roles: [...] }, or access: { local: true }",
  };
}

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
  "load shedding": {
    severity: "low",
    what: "no load shedding: when it is too busy, all callers wait",
    fix: "use: [shedLoad()]",
  },
  "error hygiene": {
    severity: "low",
    what: "internal errors carry no id by which the log has them",
    fix: "use: [discloseErrors()]",
  },
};

/** What a server that is not running yet lacks. */
export function findingsOfServer(server: Server): Finding[] {
  const present = new Set(server.use.map((middleware) => middleware.guards));
  return [
    ...missingGuards(server.use),
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
