import { type Clock, systemClock } from "../../../protocol/clock.ts";
import type { MaybePromise } from "../../../protocol/message.ts";
import type { Authorization, Challenge, Fetch } from "../http/http-sender.ts";
import { authorizationCode, type SignIn } from "./authorization-code.ts";
import {
  type IssuerMetadata,
  issuerMetadata,
  type ResourceMetadata,
  resourceMetadata,
} from "./discovery.ts";
import { guardedFetch, OAuthError } from "./fetch-json.ts";
import { type ClientIdentity, register, requireIssuer } from "./registration.ts";
import {
  type Registration,
  readStored,
  requestToken,
  type TokenRequest,
  type TokenStore,
  type Tokens,
} from "./tokens.ts";

interface OAuthSettings extends ClientIdentity, SignIn {
  /** Stores tokens and registrations. @default in memory */
  readonly store?: TokenStore;
  /** Scopes to request instead of those that the server names. */
  readonly scope?: string;
  /** Returns a signed client assertion for the issuer, instead of a secret (private_key_jwt). With a `clientId` it requires `issuer`. */
  readonly clientAssertion?: (issuer: string) => MaybePromise<string>;
  /** Used instead of the global `fetch`. */
  readonly fetch?: Fetch;
  /** Replaces the system clock, for tests. */
  readonly clock?: Clock;
}

/** Without an issuer, any MCP server could choose who receives the secret, or an assertion for the id. */
type NeedsIssuer =
  | { readonly issuer: string }
  | { readonly clientSecret?: undefined; readonly clientAssertion?: undefined }
  | { readonly clientSecret?: undefined; readonly clientId?: undefined };

export type OAuthOptions = OAuthSettings & NeedsIssuer;

/** Most authorizations for one request. */
const mostAttempts = 3;
/** A token that expires this soon is refreshed before it is used. */
const reserveMs = 10_000;

/**
 * OAuth 2.1 with PKCE for `mcpHttpLink(url, { authorization: oauth({ … }) })`. Throws a TypeError for a `clientSecret`,
 * or a `clientAssertion` with a `clientId`, without `issuer`.
 * @example
 * ```ts
 * import { mcpClient, mcpHttpLink, oauth } from "callwire/mcp/client";
 *
 * const authorization = oauth({
 *   clientId: "my-agent",
 *   clientSecret: process.env.CLIENT_SECRET ?? "",
 *   issuer: "https://login.example.com",
 * });
 * const link = mcpHttpLink("https://example.com/mcp", { authorization });
 * const client = mcpClient(link, { name: "my-host", version: "1.0.0" });
 * ```
 */
export function oauth(options: OAuthOptions): Authorization {
  const { clientId, clientSecret, clientAssertion, issuer } = options as OAuthSettings;
  const isSigned = clientAssertion !== undefined && clientId !== undefined;
  if (issuer === undefined && (clientSecret !== undefined || isSigned)) {
    const what =
      clientSecret === undefined ? '"clientAssertion" with "clientId"' : '"clientSecret"';
    throw new TypeError(
      `${what} requires "issuer", the URL of the client's authorization server: ` +
        "without it, any MCP server could name its own",
    );
  }
  return new OAuth(options);
}

class OAuth implements Authorization {
  readonly #options: OAuthSettings;
  readonly #store: TokenStore;
  readonly #fetch: Fetch;
  readonly #clock: Clock;
  /** Concurrent requests share one authorization and one refresh. */
  readonly #running = new Map<string, Promise<boolean>>();

  constructor(options: OAuthSettings) {
    this.#options = options;
    this.#store = options.store ?? new Map<string, string>();
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
    this.#clock = options.clock ?? systemClock;
  }

  async token(url: string): Promise<string | undefined> {
    const tokens = await this.#tokens(url);
    const { expiresAt, refreshToken } = tokens ?? {};
    const isStale = expiresAt !== undefined && expiresAt - reserveMs < this.#clock.now();
    if (tokens === undefined || !isStale || refreshToken === undefined) return tokens?.accessToken;
    try {
      await this.#refresh(url, tokens);
    } catch (error) {
      // The token is still valid until it expires.
      if (expiresAt > this.#clock.now()) return tokens.accessToken;
      throw error;
    }
    return (await this.#tokens(url))?.accessToken;
  }

  async challenged(challenge: Challenge): Promise<boolean> {
    const { url, status, token, attempt } = challenge;
    if (attempt > mostAttempts) return false;
    const params = bearerChallenge(challenge.header);
    if (status === 403 && params.get("error") !== "insufficient_scope") return false;
    return this.#shared(url, async () => {
      const tokens = await this.#tokens(url);
      // Another request has got a new token in the meantime.
      if (tokens !== undefined && tokens.accessToken !== token) return true;
      // The user would grant the same scopes again.
      const { scope } = this.#options;
      if (status === 403 && scope !== undefined && tokens?.scope === scope) return false;
      const send = guardedFetch(this.#fetch, url, this.#clock);
      const { issuer } = this.#options;
      const place = params.get("resource_metadata");
      const resource = await resourceMetadata(send, url, place, issuer);
      const isSame = tokens?.issuer === resource.issuer;
      if (status === 401 && tokens !== undefined && isSame && (await this.#refresh(url, tokens))) {
        return true;
      }
      const before = status === 403 && isSame ? tokens?.scope : undefined;
      await this.#authorize(url, resource, union(before, params.get("scope")));
      return true;
    });
  }

  #shared(name: string, run: () => Promise<boolean>): Promise<boolean> {
    let running = this.#running.get(name);
    if (running === undefined) {
      running = run().finally(() => this.#running.delete(name));
      this.#running.set(name, running);
    }
    return running;
  }

  #tokens(url: string): Promise<Tokens | undefined> {
    return readStored<Tokens>(this.#store, `tokens ${url}`);
  }

  /** False if the server does not refresh the token. */
  #refresh(url: string, tokens: Tokens): Promise<boolean> {
    // A sign-in, an earlier refresh or another process with the same store may have replaced the tokens.
    const replaced = async (): Promise<boolean | undefined> => {
      const kept = await this.#tokens(url);
      return kept?.accessToken === tokens.accessToken ? undefined : kept !== undefined;
    };
    return this.#shared(`refresh ${url}`, async () => {
      const before = await replaced();
      if (before !== undefined) return before;
      const { refreshToken, issuer } = tokens;
      const registration = await this.#known(issuer);
      if (refreshToken === undefined || registration === undefined) return false;
      const renewed = await this.#renewed(url, tokens, refreshToken, registration);
      const meanwhile = await replaced();
      if (meanwhile !== undefined) return meanwhile;
      if (renewed === undefined) await this.#store.delete(`tokens ${url}`);
      else await this.#store.set(`tokens ${url}`, JSON.stringify(renewed));
      return renewed !== undefined;
    });
  }

  async #renewed(
    url: string,
    tokens: Tokens,
    refreshToken: string,
    registration: Registration,
  ): Promise<Tokens | undefined> {
    try {
      return await this.#request(url, {
        ...tokens,
        registration,
        params: { grant_type: "refresh_token", refresh_token: refreshToken },
        assertion: this.#options.clientAssertion,
      });
    } catch (error) {
      if (error instanceof OAuthError && error.reason !== undefined) return undefined;
      throw error;
    }
  }

  async #request(url: string, request: TokenRequest): Promise<Tokens> {
    try {
      return await requestToken(guardedFetch(this.#fetch, url, this.#clock), this.#clock, request);
    } catch (error) {
      // The server has forgotten the client, which registers again with the next sign-in.
      if (error instanceof OAuthError && error.reason === "invalid_client") {
        await this.#store.delete(`client ${request.issuer}`);
      }
      throw error;
    }
  }

  async #authorize(
    url: string,
    resource: ResourceMetadata,
    challenged: string | undefined,
  ): Promise<void> {
    if (resource.stated) requireIssuer(this.#options, resource.issuer);
    const send = guardedFetch(this.#fetch, url, this.#clock);
    const server = await issuerMetadata(send, resource);
    const wanted = this.#options.scope ?? challenged ?? resource.scopes?.join(" ");
    const isForUser = this.#options.authorize !== undefined;
    // With a refresh token the user need not sign in again.
    const lasting = isForUser && server.scopes?.includes("offline_access");
    const scope = lasting ? union(wanted, "offline_access") : wanted;
    const registration = await this.#registered(send, server, resource.issuer);
    const params = isForUser
      ? await authorizationCode(this.#options, server, resource, registration.clientId, scope)
      : { grant_type: "client_credentials", ...(scope !== undefined && { scope }) };
    const tokens = await this.#request(url, {
      issuer: resource.issuer,
      tokenEndpoint: server.tokenEndpoint,
      registration,
      resource: resource.resource,
      scope,
      params,
      assertion: this.#options.clientAssertion,
    });
    await this.#store.set(`tokens ${url}`, JSON.stringify(tokens));
  }

  async #known(issuer: string): Promise<Registration | undefined> {
    const { clientId, issuer: own = issuer } = this.#options;
    // A stored registration may predate the option. An issuer that no server named may have a path.
    if (own !== issuer && !own.startsWith(`${issuer}/`)) return undefined;
    const known = await readStored<Registration>(this.#store, `client ${issuer}`);
    return clientId === undefined || clientId === known?.clientId ? known : undefined;
  }

  /** The client registers with each authorization server separately. */
  async #registered(send: Fetch, server: IssuerMetadata, issuer: string): Promise<Registration> {
    const known = await this.#known(issuer);
    if (known !== undefined) return known;
    const { redirectUrl } = this.#options;
    const made = await register(send, server, this.#options, redirectUrl);
    await this.#store.set(`client ${issuer}`, JSON.stringify(made));
    return made;
  }
}

function union(...lists: readonly (string | undefined)[]): string | undefined {
  const all = new Set(lists.flatMap((list) => list?.split(" ").filter(Boolean) ?? []));
  return all.size === 0 ? undefined : [...all].join(" ");
}

/**
 * A token with an optional value, a quoted string, or a comma. An unterminated quoted string extends to the end; anything
 * else is skipped, so that matching stays linear.
 */
const parts =
  /([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"?|([^\s,"]*)))?|"(?:[^"\\]|\\.)*"?|,/gs;

/** The params of the first Bearer challenge in `WWW-Authenticate`; empty if there is none. */
function bearerChallenge(header: string | undefined): ReadonlyMap<string, string> {
  const params = new Map<string, string>();
  let scheme = "";
  let isFirst = true;
  for (const [part, word = "", quoted, plain] of (header ?? "").matchAll(parts)) {
    const name = word.toLowerCase();
    const value = quoted?.replace(/\\(.)/gs, "$1") ?? plain;
    if (value !== undefined) {
      if (scheme === "bearer" && !params.has(name)) params.set(name, value);
    } else if (isFirst && name !== "") {
      // A token without a value begins the next challenge, but only at the start or after a comma.
      if (scheme === "bearer") break;
      scheme = name;
    }
    isFirst = part === ",";
  }
  return params;
}
