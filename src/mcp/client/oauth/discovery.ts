import type { Fetch } from "../http/http-sender.ts";
import { fetchJson, OAuthError, requireSecureUrl } from "./fetch-json.ts";

/** The protected resource metadata of an MCP server (RFC 9728). */
export interface ResourceMetadata {
  /** The resource that tokens are requested for. */
  readonly resource: string | undefined;
  readonly issuer: string;
  readonly scopes: readonly string[] | undefined;
  /** False if the server has no metadata, as before 2025-06-18. */
  readonly stated: boolean;
}

/** The metadata of an authorization server (RFC 8414). */
export interface IssuerMetadata {
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly registrationEndpoint: string | undefined;
  readonly takesMetadataUrls: boolean;
  readonly authMethods: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
  /** Whether its redirects name the issuer (RFC 9207). */
  readonly namesItself: boolean;
}

/** Finds the authorization server of an MCP server; of several, prefers the one that the client knows. */
export async function resourceMetadata(
  send: Fetch,
  server: string,
  stated: string | undefined,
  known?: string,
): Promise<ResourceMetadata> {
  const { origin, pathname } = new URL(server);
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
  const own = pathname === "/" ? [] : [wellKnown + pathname];
  for (const url of stated === undefined ? [...own, wellKnown] : [stated]) {
    const { status, body } = await fetchJson(send, url);
    if (status !== 200 || body === undefined) continue;
    const { resource, authorization_servers: issuers, scopes_supported: scopes } = body;
    if (typeof resource !== "string" || !covers(resource, server)) {
      throw new OAuthError(`the metadata at ${url} describes ${shown(resource)}, not ${server}`);
    }
    const named = strings(issuers) ?? [];
    const issuer = named.find((each) => each === known) ?? named[0];
    if (issuer === undefined) {
      throw new OAuthError(`the metadata at ${url} does not name an authorization server`);
    }
    return { resource, issuer, scopes: strings(scopes), stated: true };
  }
  if (stated !== undefined) throw new OAuthError(`there is no metadata at ${stated}`);
  // Before 2025-06-18 a server was its own authorization server.
  return { resource: undefined, issuer: origin, scopes: undefined, stated: false };
}

/** Whether a resource is the server itself, or a parent path on the same origin. */
function covers(resource: string, server: string): boolean {
  if (!URL.canParse(resource)) return false;
  const whole = new URL(resource);
  const part = new URL(server);
  const folder = whole.pathname.endsWith("/") ? whole.pathname : `${whole.pathname}/`;
  return whole.origin === part.origin && `${part.pathname}/`.startsWith(folder);
}

/** Finds the endpoints of an authorization server. */
export async function issuerMetadata(
  send: Fetch,
  resource: ResourceMetadata,
): Promise<IssuerMetadata> {
  const { issuer, stated } = resource;
  requireSecureUrl(issuer);
  for (const url of metadataUrls(issuer)) {
    const { status, body } = await fetchJson(send, url);
    if (status !== 200 || body === undefined) continue;
    if (!isAbout(body.issuer, resource)) {
      throw new OAuthError(`the metadata at ${url} describes ${shown(body.issuer)}, not ${issuer}`);
    }
    return readMetadata(body, url);
  }
  if (stated) throw new OAuthError(`the authorization server ${issuer} has no metadata`);
  return {
    issuer,
    authorizationEndpoint: `${issuer}/authorize`,
    tokenEndpoint: `${issuer}/token`,
    registrationEndpoint: `${issuer}/register`,
    takesMetadataUrls: false,
    authMethods: undefined,
    scopes: undefined,
    namesItself: false,
  };
}

/**
 * Whether the metadata has the expected issuer: a server that impersonated another would receive the
 * client's secret. An issuer that no metadata named may have a path.
 */
function isAbout(named: unknown, { issuer, stated }: ResourceMetadata): boolean {
  if (named === issuer) return true;
  return !stated && typeof named === "string" && named.startsWith(`${issuer}/`);
}

function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const oauth = `${origin}/.well-known/oauth-authorization-server${path}`;
  const openId = `${origin}/.well-known/openid-configuration${path}`;
  return path === ""
    ? [oauth, openId]
    : [oauth, openId, `${origin}${path}/.well-known/openid-configuration`];
}

function readMetadata(body: Readonly<Record<string, unknown>>, url: string): IssuerMetadata {
  const {
    authorization_endpoint: authorize,
    token_endpoint: token,
    registration_endpoint: register,
  } = body;
  if (typeof token !== "string" || typeof body.issuer !== "string") {
    throw new OAuthError(`the metadata at ${url} lacks an issuer or a token endpoint`);
  }
  if (typeof authorize === "string") {
    requireSecureUrl(authorize);
    // Without PKCE, an intercepted code is enough to get a token.
    if (strings(body.code_challenge_methods_supported)?.includes("S256") !== true) {
      throw new OAuthError(`the authorization server ${body.issuer} does not support PKCE`);
    }
  }
  return {
    issuer: body.issuer,
    authorizationEndpoint: typeof authorize === "string" ? authorize : "",
    tokenEndpoint: token,
    registrationEndpoint: typeof register === "string" ? register : undefined,
    takesMetadataUrls: body.client_id_metadata_document_supported === true,
    authMethods: strings(body.token_endpoint_auth_methods_supported),
    scopes: strings(body.scopes_supported),
    namesItself: body.authorization_response_iss_parameter_supported === true,
  };
}

/** A value for an error message; it may be anything. */
function shown(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
}

function strings(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : undefined;
}
