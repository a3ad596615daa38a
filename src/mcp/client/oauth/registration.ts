import type { Fetch } from "../http/http-sender.ts";
import type { IssuerMetadata } from "./discovery.ts";
import { fetchJson, OAuthError } from "./fetch-json.ts";
import type { Registration } from "./tokens.ts";

export interface ClientIdentity {
  /** An id that the authorization server issued beforehand. */
  readonly clientId?: string;
  /** The secret for the id. It requires `issuer`. */
  readonly clientSecret?: string;
  /**
   * The only authorization server that the client uses. Without it any MCP server can name a server of its own, so a
   * client with a secret requires it. @default the one that the MCP server names
   */
  readonly issuer?: string;
  /** An https URL that serves this client's metadata, used as its id if the server supports that. */
  readonly clientMetadataUrl?: string;
  /** The name that users see if the client registers itself. @default "callwire" */
  readonly clientName?: string;
}

/** Throws if the client has an authorization server and this is another one. */
export function requireIssuer({ issuer = "" }: ClientIdentity, named: string): void {
  if (issuer === "" || issuer === named) return;
  throw new OAuthError(`the client is registered with ${issuer}, not with ${named}`);
}

/** Registers the client in the first way that works: a known id, a metadata URL, or dynamic registration. */
export async function register(
  send: Fetch,
  server: IssuerMetadata,
  identity: ClientIdentity,
  redirectUrl: string | undefined,
): Promise<Registration> {
  const { clientId, clientSecret, clientMetadataUrl } = identity;
  requireIssuer(identity, server.issuer);
  if (clientId !== undefined) {
    const authMethod = authMethodFor(server.authMethods, clientSecret);
    return { clientId, clientSecret, authMethod };
  }
  if (clientMetadataUrl !== undefined && server.takesMetadataUrls) {
    return { clientId: clientMetadataUrl, clientSecret: undefined, authMethod: "none" };
  }
  if (server.registrationEndpoint === undefined || redirectUrl === undefined) {
    throw new OAuthError(`${server.issuer} does not register clients; set "clientId"`);
  }
  return registerDynamically(send, server, identity, redirectUrl);
}

async function registerDynamically(
  send: Fetch,
  server: IssuerMetadata,
  { clientName = "callwire" }: ClientIdentity,
  redirectUrl: string,
): Promise<Registration> {
  const wanted = server.authMethods?.includes("none")
    ? "none"
    : authMethodFor(server.authMethods, "a secret will be issued");
  const { status, body } = await fetchJson(send, server.registrationEndpoint as string, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: clientName,
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: wanted,
      // No scope: a later request could never exceed it.
      application_type: isNative(redirectUrl) ? "native" : "web",
    }),
  });
  const {
    client_id: clientId,
    client_secret: secret,
    token_endpoint_auth_method: method,
  } = body ?? {};
  if (status >= 300 || typeof clientId !== "string") {
    const why = typeof body?.error === "string" ? body.error : `status ${status}`;
    throw new OAuthError(`${server.issuer} did not register this client: ${why}`, { reason: why });
  }
  const clientSecret = typeof secret === "string" ? secret : undefined;
  const authMethod =
    typeof method === "string" ? method : authMethodFor(server.authMethods, clientSecret);
  return { clientId, clientSecret, authMethod };
}

/** Whether the redirect URL belongs to a program on the user's machine. */
function isNative(redirectUrl: string): boolean {
  const { protocol, hostname } = new URL(redirectUrl);
  return !/^https?:$/.test(protocol) || /^(localhost|127\.|\[::1\])/.test(hostname);
}

function authMethodFor(
  supported: readonly string[] = ["client_secret_basic"],
  secret: string | undefined,
): string {
  if (secret === undefined) return "none";
  const usable = ["client_secret_basic", "client_secret_post"];
  return usable.find((method) => supported.includes(method)) ?? "client_secret_post";
}
