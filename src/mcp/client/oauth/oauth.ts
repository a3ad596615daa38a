import { type Clock, systemClock } from "../../../protocol/clock.ts";
import type { MaybePromise } from "../../../protocol/message.ts";
import type { Authorization, Challenge } from "../http/authorization.ts";
import type { Fetch } from "../http/carrier.ts";
import { bearerChallenge } from "./challenge.ts";
import {
  type IssuerMetadata,
  issuerMetadata,
  type ResourceMetadata,
  resourceMetadata,
} from "./discovery.ts";
import { guarded } from "./fetch-json.ts";
import { OAuthError } from "./oauth-error.ts";
import { makePkce, randomText } from "./pkce.ts";
import { type ClientIdentity, mustBeKnown, register } from "./registration.ts";
import { requestToken, type TokenRequest } from "./token-request.ts";
import { type Registration, readKept, type TokenStore, type Tokens } from "./token-store.ts";

interface OAuthSettings extends ClientIdentity {
  /** Where the authorization server sends the user back to. */
  readonly redirectUrl?: string;
  /**
   * Lets the user sign in: opens the address in a browser, and resolves with the one that the
   * browser was sent back to. Without it the client acts for itself (client credentials).
   */
  readonly authorize?: (url: URL) => MaybePromise<string | URL>;
  /** Keeps tokens and registrations. @default as long as the process lives */
  readonly store?: TokenStore;
  /** Scopes to ask for in place of those that the server names. */
  readonly scope?: string;
  /** Signs who the client is for this issuer, in place of a secret (private_key_jwt). With a `clientId` it needs `issuer`. */
  readonly clientAssertion?: (issuer: string) => MaybePromise<string>;
  /** Carries the requests in place of the global `fetch`. */
  readonly fetch?: Fetch;
  /** The clock that decides whether a token has expired, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
}

/** Without an issuer, MCP servers would choose who is shown a secret, or a statement that is signed for a known id. */
type NeedsIssuer =
  | { readonly issuer: string }
  | { readonly clientSecret?: undefined; readonly clientAssertion?: undefined }
  | { readonly clientSecret?: undefined; readonly clientId?: undefined };

export type OAuthOptions = OAuthSettings & NeedsIssuer;

/** How often one request asks for authorization before it is given up. */
const mostAttempts = 3;
/** A token that ends so soon is renewed before it is used. */
const reserveMs = 10_000;

/**
 * OAuth 2.1 with PKCE for `mcpHttpLink(url, { authorization: oauth({ … }) })`. Throws a TypeError for a `clientSecret`,
 * or a `clientAssertion` for a `clientId`, without the `issuer` that they are for.
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
      clientSecret === undefined ? '"clientAssertion" for a "clientId"' : '"clientSecret"';
    throw new TypeError(
      `${what} needs "issuer", the address of the authorization server that knows the client: ` +
        "without it, any MCP server could name one of its own",
    );
  }
  return new OAuth(options);
}

class OAuth implements Authorization {
  readonly #options: OAuthSettings;
  readonly #store: TokenStore;
  readonly #fetch: Fetch;
  readonly #clock: Clock;
  /** Requests that are refused at the same time wait for one authorization, and those whose token ends for one renewal. */
  readonly #underWay = new Map<string, Promise<boolean>>();

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
      // It was to be renewed before its end, and until then it is as good as ever.
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
    return this.#alone(url, async () => {
      const tokens = await this.#tokens(url);
      // Another request has been through this meanwhile.
      if (tokens !== undefined && tokens.accessToken !== token) return true;
      // The user would be asked for what the token has.
      const { scope } = this.#options;
      if (status === 403 && scope !== undefined && tokens?.scope === scope) return false;
      const send = guarded(this.#fetch, url, this.#clock);
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

  #alone(name: string, run: () => Promise<boolean>): Promise<boolean> {
    let running = this.#underWay.get(name);
    if (running === undefined) {
      running = run().finally(() => this.#underWay.delete(name));
      this.#underWay.set(name, running);
    }
    return running;
  }

  #tokens(url: string): Promise<Tokens | undefined> {
    return readKept<Tokens>(this.#store, `tokens ${url}`);
  }

  /** False where the server does not renew the token. */
  #refresh(url: string, tokens: Tokens): Promise<boolean> {
    // Who signs in meanwhile, renewed them before, or has the same store in another process, has better ones.
    const others = async (): Promise<boolean | undefined> => {
      const kept = await this.#tokens(url);
      return kept?.accessToken === tokens.accessToken ? undefined : kept !== undefined;
    };
    return this.#alone(`refresh ${url}`, async () => {
      const before = await others();
      if (before !== undefined) return before;
      const { refreshToken, issuer } = tokens;
      const registration = await this.#known(issuer);
      if (refreshToken === undefined || registration === undefined) return false;
      const renewed = await this.#renewed(url, tokens, refreshToken, registration);
      const meanwhile = await others();
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
      return await requestToken(guarded(this.#fetch, url, this.#clock), this.#clock, request);
    } catch (error) {
      // A server that has forgotten the client gets to know it anew, with the next sign-in.
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
    if (resource.stated) mustBeKnown(this.#options, resource.issuer);
    const send = guarded(this.#fetch, url, this.#clock);
    const server = await issuerMetadata(send, resource);
    const wanted = this.#options.scope ?? challenged ?? resource.scopes?.join(" ");
    const isForUser = this.#options.authorize !== undefined;
    // A token that can be renewed spares the user from signing in again.
    const lasting = isForUser && server.scopes?.includes("offline_access");
    const scope = lasting ? union(wanted, "offline_access") : wanted;
    const registration = await this.#registered(send, server, resource.issuer);
    const params = isForUser
      ? await this.#codeFor(server, resource, registration, scope)
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
    // What was kept before the option was set may be of any issuer. One that nobody named may have a path of its own.
    if (own !== issuer && !own.startsWith(`${issuer}/`)) return undefined;
    const known = await readKept<Registration>(this.#store, `client ${issuer}`);
    return clientId === undefined || clientId === known?.clientId ? known : undefined;
  }

  /** Who is known to one authorization server is a stranger to the next. */
  async #registered(send: Fetch, server: IssuerMetadata, issuer: string): Promise<Registration> {
    const known = await this.#known(issuer);
    if (known !== undefined) return known;
    const { redirectUrl } = this.#options;
    const made = await register(send, server, this.#options, redirectUrl);
    await this.#store.set(`client ${issuer}`, JSON.stringify(made));
    return made;
  }

  /** Sends the user to the authorization server, and takes what they bring back. */
  async #codeFor(
    server: IssuerMetadata,
    { resource, issuer }: ResourceMetadata,
    { clientId }: Registration,
    scope: string | undefined,
  ): Promise<Record<string, string>> {
    const { redirectUrl, authorize } = this.#options;
    if (redirectUrl === undefined || authorize === undefined) {
      throw new OAuthError("signing in needs a redirectUrl");
    }
    if (server.authorizationEndpoint === "") {
      throw new OAuthError(`the authorization server ${issuer} lets nobody sign in`);
    }
    const { verifier, challenge } = await makePkce();
    const state = randomText();
    const url = new URL(server.authorizationEndpoint);
    const query: Record<string, string | undefined> = {
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUrl,
      code_challenge: challenge,
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
    const code = codeIn(back, state, server);
    return {
      grant_type: "authorization_code",
      code,
      redirect_uri: redirectUrl,
      code_verifier: verifier,
    };
  }
}

/** The code that the user brings back, if it is from the server that they were sent to. */
function codeIn(back: URLSearchParams, state: string, server: IssuerMetadata): string {
  if (back.get("state") !== state) throw new OAuthError("the answer belongs to another sign-in");
  const iss = back.get("iss");
  if (iss === null ? server.namesItself : iss !== server.issuer) {
    throw new OAuthError(`the answer is not from ${server.issuer}`);
  }
  const code = back.get("code");
  if (code !== null) return code;
  const reason = back.get("error") ?? "no code";
  throw new OAuthError(`the user was not let in: ${reason}`, { reason });
}

function union(...lists: readonly (string | undefined)[]): string | undefined {
  const all = new Set(lists.flatMap((list) => list?.split(" ").filter(Boolean) ?? []));
  return all.size === 0 ? undefined : [...all].join(" ");
}
