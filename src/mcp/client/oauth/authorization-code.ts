import { base64Url } from "../../../protocol/base64.ts";
import type { MaybePromise } from "../../../protocol/message.ts";
import type { IssuerMetadata, ResourceMetadata } from "./discovery.ts";
import { OAuthError } from "./fetch-json.ts";

/** How the user signs in. */
export interface SignIn {
  /** Where the authorization server sends the user back to. */
  readonly redirectUrl?: string;
  /**
   * Lets the user sign in: opens the address in a browser, and resolves with the address that the
   * browser was redirected to. Without it the client acts on its own behalf (client credentials).
   */
  readonly authorize?: (url: URL) => MaybePromise<string | URL>;
}

/** Sends the user to the authorization server, and returns the params that exchange the code for a token. */
export async function authorizationCode(
  { redirectUrl, authorize }: SignIn,
  server: IssuerMetadata,
  { resource, issuer }: ResourceMetadata,
  clientId: string,
  scope: string | undefined,
): Promise<Record<string, string>> {
  if (redirectUrl === undefined || authorize === undefined) {
    throw new OAuthError('signing in requires "redirectUrl"');
  }
  if (server.authorizationEndpoint === "") {
    throw new OAuthError(`the authorization server ${issuer} has no authorization endpoint`);
  }
  const verifier = randomString();
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const state = randomString();
  const url = new URL(server.authorizationEndpoint);
  const query: Record<string, string | undefined> = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUrl,
    code_challenge: base64Url(new Uint8Array(digest)),
    code_challenge_method: "S256",
    state,
    scope,
    resource,
    prompt: scope?.split(" ").includes("offline_access") ? "consent" : undefined,
  };
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  const back = new URL(await authorize(url), redirectUrl).searchParams;
  return {
    grant_type: "authorization_code",
    code: codeIn(back, state, server),
    redirect_uri: redirectUrl,
    code_verifier: verifier,
  };
}

/** The code in a redirect, which must come from the server that the user was sent to. */
function codeIn(back: URLSearchParams, state: string, server: IssuerMetadata): string {
  if (back.get("state") !== state) throw new OAuthError("the redirect belongs to another sign-in");
  const iss = back.get("iss");
  if (iss === null ? server.namesItself : iss !== server.issuer) {
    throw new OAuthError(`the redirect is not from ${server.issuer}`);
  }
  const code = back.get("code");
  if (code !== null) return code;
  const reason = back.get("error") ?? "no code";
  throw new OAuthError(`the authorization server refused the sign-in: ${reason}`, { reason });
}

/** 256 random bits. */
function randomString(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)));
}
