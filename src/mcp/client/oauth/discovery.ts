import type { Fetch } from "../http/http-sender.ts";
import { fetchJson, OAuthError, requireSecureUrl } from "./fetch-json.ts";

/** What an MCP server says about who may use it (RFC 9728). */
export interface ResourceMetadata {
  /** The name under which tokens are asked for. */
  readonly resource: string | undefined;
  readonly issuer: string;
  readonly scopes: readonly string[] | undefined;
  /** False where the server says nothing, as before 2025-06-18. */
  readonly stated: boolean;
}

/** What an authorization server says about itself (RFC 8414). */
export interface IssuerMetadata {
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly registrationEndpoint: string | undefined;
  readonly takesMetadataUrls: boolean;
  readonly authMethods: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
  /** Whether it names itself when it sends the user back (RFC 9207). */
  readonly namesItself: boolean;
}

/** Finds out who gives tokens for an MCP server. Of several, the one is taken that the client knows. */
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
      throw new OAuthError(
        `the metadata at ${url} is about ${shown(resource)}, not about ${server}`,
      );
    }
    const named = texts(issuers) ?? [];
    const issuer = named.find((each) => each === known) ?? named[0];
    if (issuer === undefined) {
      throw new OAuthError(`the metadata at ${url} names no authorization server`);
    }
    return { resource, issuer, scopes: texts(scopes), stated: true };
  }
  if (stated !== undefined) throw new OAuthError(`there is no metadata at ${stated}`);
  // Before 2025-06-18 a server was its own authorization server.
  return { resource: undefined, issuer: origin, scopes: undefined, stated: false };
}

/** Whether a resource is the server, or a part of its address that holds it. */
function covers(resource: string, server: string): boolean {
  if (!URL.canParse(resource)) return false;
  const whole = new URL(resource);
  const part = new URL(server);
  const folder = whole.pathname.endsWith("/") ? whole.pathname : `${whole.pathname}/`;
  return whole.origin === part.origin && `${part.pathname}/`.startsWith(folder);
}

/** Finds out how an authorization server is spoken with. */
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
      throw new OAuthError(
        `the metadata at ${url} is about ${shown(body.issuer)}, not about ${issuer}`,
      );
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
 * Whether an authorization server names itself as it was named. One that passed for another would be told
 * the secret that the client shares with that. Where nobody named it, it may have a path of its own.
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
  const { authorization_endpoint: authorize, token_endpoint: token } = body;
  if (typeof token !== "string" || typeof body.issuer !== "string") {
    throw new OAuthError(`the metadata at ${url} lacks an issuer or a token endpoint`);
  }
  if (typeof authorize === "string") {
    requireSecureUrl(authorize);
    // Without PKCE, whoever catches the code has the token.
    if (texts(body.code_challenge_methods_supported)?.includes("S256") !== true) {
      throw new OAuthError(`the authorization server ${body.issuer} does not support PKCE`);
    }
  }
  return {
    issuer: body.issuer,
    authorizationEndpoint: typeof authorize === "string" ? authorize : "",
    tokenEndpoint: token,
    registrationEndpoint: text(body.registration_endpoint),
    takesMetadataUrls: body.client_id_metadata_document_supported === true,
    authMethods: texts(body.token_endpoint_auth_methods_supported),
    scopes: texts(body.scopes_supported),
    namesItself: body.authorization_response_iss_parameter_supported === true,
  };
}

/** A member that should be a string, and may be anything. */
function shown(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function texts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : undefined;
}
