import type { Clock } from "../../../protocol/clock.ts";
import type { MaybePromise } from "../../../protocol/message.ts";
import type { Fetch } from "../http/http-sender.ts";
import { fetchJson, OAuthError } from "./fetch-json.ts";

export interface TokenRequest
  extends Pick<Tokens, "issuer" | "tokenEndpoint" | "resource" | "scope"> {
  readonly registration: Registration;
  /** Params of the grant type. */
  readonly params: Readonly<Record<string, string>>;
  /** Signs the client assertion for `private_key_jwt`. */
  readonly assertion: ((issuer: string) => MaybePromise<string>) | undefined;
}

export async function requestToken(
  send: Fetch,
  clock: Clock,
  request: TokenRequest,
): Promise<Tokens> {
  const { issuer, tokenEndpoint, resource, scope, params } = request;
  const form = new URLSearchParams(params);
  if (resource !== undefined) form.set("resource", resource);
  const headers = new Headers({ "content-type": "application/x-www-form-urlencoded" });
  await identify(request, form, headers);
  const { status, body } = await fetchJson(send, tokenEndpoint, {
    method: "POST",
    headers,
    body: form.toString(),
  });
  const { access_token: token, token_type: type, refresh_token: refresh } = body ?? {};
  if (status >= 300 || typeof token !== "string") {
    const reason = typeof body?.error === "string" ? body.error : `status ${status}`;
    // An unavailable server has not refused, so the refresh token must not be discarded.
    const isTemporary = status >= 500 || status === 429;
    throw new OAuthError(
      `${issuer} did not issue a token: ${reason}`,
      isTemporary ? {} : { reason },
    );
  }
  if (typeof type === "string" && type.toLowerCase() !== "bearer") {
    throw new OAuthError(`${issuer} issued a token of the unsupported type ${type}`);
  }
  const { expires_in: seconds, scope: granted } = body ?? {};
  return {
    accessToken: token,
    refreshToken: typeof refresh === "string" ? refresh : params.refresh_token,
    expiresAt: typeof seconds === "number" ? clock.now() + seconds * 1_000 : undefined,
    scope: typeof granted === "string" ? granted : scope,
    issuer,
    tokenEndpoint,
    resource,
  };
}

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

async function identify(
  { registration, assertion, issuer }: TokenRequest,
  form: URLSearchParams,
  headers: Headers,
): Promise<void> {
  const { clientId, clientSecret, authMethod } = registration;
  if (assertion !== undefined) {
    form.set("client_assertion_type", assertionType);
    form.set("client_assertion", await assertion(issuer));
  } else if (clientSecret !== undefined && authMethod === "client_secret_basic") {
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
    headers.set("authorization", `Basic ${btoa(pair)}`);
    return;
  } else if (clientSecret !== undefined && authMethod !== "none") {
    form.set("client_secret", clientSecret);
  }
  form.set("client_id", clientId);
}

/** Stores tokens and registrations, for example in a file, a keychain or a `Map`. The values are secrets. */
export interface TokenStore {
  get(key: string): MaybePromise<string | undefined>;
  set(key: string, value: string): MaybePromise<unknown>;
  delete(key: string): MaybePromise<unknown>;
}

/** A token and what is needed to refresh it. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | undefined;
  /** The scopes that were granted, or else requested. */
  readonly scope: string | undefined;
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly resource: string | undefined;
}

/** How a client is registered with an authorization server. */
export interface Registration {
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly authMethod: string;
}

/** The value stored under a key; undefined if it is missing or malformed. */
export async function readStored<T extends object>(
  store: TokenStore,
  key: string,
): Promise<T | undefined> {
  const kept = await store.get(key);
  if (kept === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(kept);
    return typeof value === "object" && value !== null ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}
