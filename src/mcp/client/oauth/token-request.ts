import type { Clock } from "../../../protocol/clock.ts";
import type { MaybePromise } from "../../../protocol/message.ts";
import type { Fetch } from "../http/carrier.ts";
import { fetchJson } from "./fetch-json.ts";
import { OAuthError } from "./oauth-error.ts";
import type { Registration, Tokens } from "./token-store.ts";

export interface TokenRequest {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly registration: Registration;
  readonly resource: string | undefined;
  readonly scope: string | undefined;
  /** What the kind of grant needs. */
  readonly params: Readonly<Record<string, string>>;
  /** Signs who the client is, for `private_key_jwt`. */
  readonly assertion: ((issuer: string) => MaybePromise<string>) | undefined;
}

/** Asks for a token. */
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
    // A server that is down or overrun has not said no, and a token that can be renewed is not thrown away for it.
    const isPassing = status >= 500 || status === 429;
    throw new OAuthError(`${issuer} gave no token: ${reason}`, isPassing ? {} : { reason });
  }
  if (typeof type === "string" && type.toLowerCase() !== "bearer") {
    throw new OAuthError(`${issuer} gave a token of the unknown kind ${type}`);
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
