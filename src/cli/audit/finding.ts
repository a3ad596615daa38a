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
