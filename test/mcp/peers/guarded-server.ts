/** An MCP server that accepts the tokens of an authorization server. */
import { createServer, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { McpError, mcpMounts, mcpServer, tool } from "callwire/mcp";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { ownPort } from "../../own-port.ts";

export interface GuardedServer {
  readonly url: string;
  /** Tokens that arrived, in their order. */
  readonly sent: string[];
  /** Tokens that are no longer accepted. */
  readonly revoked: Set<string>;
  close(): Promise<void>;
}

export async function startGuardedServer(issuer: string): Promise<GuardedServer> {
  const sent: string[] = [];
  const revoked = new Set<string>();
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  const server = mcpServer(
    {
      who: tool({}, (_, call) => call.principal?.id ?? "nobody"),
      write: tool({}, (_, call) => {
        if (call.principal?.scopes?.includes("write")) return "written";
        throw new McpError(-32001, "Insufficient scope", { scope: "write" }, { status: 403 });
      }),
    },
    { name: "test", version: "1", log: silentLog },
  );
  // The address is part of the resource's name, so it is determined before anything is mounted
  // there.
  const port = await ownPort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const mounts = mcpMounts(server, {
    authorization: {
      resource: url,
      authorizationServers: [issuer],
      requiredScopes: ["mcp"],
      scopesSupported: ["mcp", "write"],
      verify: async (token) => {
        sent.push(token);
        if (revoked.has(token)) return undefined;
        const { payload } = await jwtVerify(token, keys, { issuer });
        const scopes = String(payload.scope ?? "").split(" ");
        return { id: String(payload.sub), scopes, claims: payload };
      },
    },
  });
  const http = await serveHttp(createServer({}), { port, mounts });
  return { url, sent, revoked, close: () => http.close() };
}
