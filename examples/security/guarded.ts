import { createServer, type Server } from "callwire";
import { type AuditSink, secureDefaults } from "callwire/security";
import { apiKeys, createApiKey } from "callwire/security/keys";
import { createSigningKey, signedRequests } from "callwire/security/signing";
import { methods } from "./methods.ts";

/** Keys like those of `callwire keys create`; a server stores only the records. */
export function makeKeys() {
  const ann = createApiKey({ id: "ann", principal: { id: "ann", roles: ["member"] } });
  const root = createApiKey({ id: "root", principal: { id: "root", roles: ["operator"] } });
  const robot = createSigningKey("ed25519", "robot");
  return { ann, root, robot };
}

/** A server with all guards: authentication, authorization, rate limit and audit log. */
export function guardedServer(keys: ReturnType<typeof makeKeys>, audit: AuditSink): Server {
  return createServer(
    methods,
    secureDefaults({
      credentials: [
        apiKeys([keys.ann.record, keys.root.record]),
        signedRequests({ keys: [keys.robot.verifier] }),
      ],
      policy: {
        allow: [
          { methods: ["notes/list", "report"], principals: "*" },
          { methods: "notes/**", roles: ["operator"] },
          { methods: "notes/add", principals: "robot" },
        ],
        deny: [{ methods: "report", principals: "robot" }],
      },
      perPrincipal: { capacity: 20, perSecond: 0.1 },
      costs: { report: 10 },
      audit,
      // The machine may be busy when the example runs.
      maxLagMs: 10_000,
    }),
  );
}
