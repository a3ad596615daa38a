/** A real authorization server in this process: oidc-provider, with tokens for one resource. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

export interface AuthorizationServer {
  readonly issuer: string;
  /** A token that a client gets for itself. */
  token(scope: string, resource: string): Promise<string>;
  close(): Promise<void>;
}

export async function startAuthorizationServer(): Promise<AuthorizationServer> {
  const http: Server = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "agent",
        client_secret: "secret",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
      },
    ],
    scopes: ["mcp", "write"],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_: unknown, resource: string) => ({
          scope: "mcp write",
          audience: resource,
          accessTokenFormat: "jwt",
          accessTokenTTL: 60,
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
  });
  http.on("request", provider.callback());
  return {
    issuer,
    async token(scope, resource) {
      const response = await fetch(`${issuer}/token`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa("agent:secret")}` },
        body: new URLSearchParams({ grant_type: "client_credentials", scope, resource }),
      });
      const { access_token, error_description } = await response.json();
      if (access_token === undefined) throw new Error(error_description);
      return access_token;
    },
    close: () => new Promise((resolve) => http.close(() => resolve())),
  };
}
