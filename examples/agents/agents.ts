/** Three agents and an untrusted tool, each with a key and the methods that it may call. */
import { createServer, type Server } from "callwire";
import { type AuditSink, auditLog, authenticate, authorize, type Policy } from "callwire/security";
import { apiKeys, createApiKey } from "callwire/security/keys";

const names = ["planner", "researcher", "operator", "untrusted-tool"] as const;

export const keys = Object.fromEntries(
  names.map((id) => [id, createApiKey({ id, principal: { id } })]),
);

const policy: Policy = {
  allow: [
    { methods: "search/*", principals: "planner" },
    { methods: "plan/*", principals: ["researcher", "operator"] },
    { methods: "system/**", principals: "operator" },
    { methods: ["files/read", "files/list"], principals: "untrusted-tool" },
  ],
  // Wins over every allow rule.
  deny: [{ methods: ["system/**", "files/write"], principals: "untrusted-tool" }],
};

/** The methods of all agents, behind one server. */
export function officeOf(audit: AuditSink): Server {
  const methods = {
    search: { web: (text: string) => `pages on ${text}`, papers: () => [] },
    plan: { show: () => "first search, then write", revise: () => "revised" },
    system: { restart: () => "restarted", users: { remove: () => "removed" } },
    files: { read: () => "text", list: () => ["notes.txt"], write: () => "written" },
  };
  const credential = apiKeys(Object.values(keys).map(({ record }) => record));
  const use = [auditLog(audit), authenticate(credential), authorize(policy)];
  return createServer(methods, { use });
}
