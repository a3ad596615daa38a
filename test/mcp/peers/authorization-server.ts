/** A real authorization server that issues tokens to clients themselves. */
import { type RunningProvider, startProvider } from "./oidc.ts";

export interface AuthorizationServer extends RunningProvider {
  /** A token that a client gets for itself. */
  token(scope: string, resource: string): Promise<string>;
}

export async function startAuthorizationServer(): Promise<AuthorizationServer> {
  const provider = await startProvider({
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
    features: { devInteractions: { enabled: false }, clientCredentials: { enabled: true } },
  });
  return {
    ...provider,
    async token(scope, resource) {
      const response = await fetch(`${provider.issuer}/token`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa("agent:secret")}` },
        body: new URLSearchParams({ grant_type: "client_credentials", scope, resource }),
      });
      const { access_token, error_description } = await response.json();
      if (access_token === undefined) throw new Error(error_description);
      return access_token;
    },
  };
}
