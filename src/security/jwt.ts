/** Bearer tokens that are JSON Web Tokens, with keys of your own or from a JWKS endpoint. @module callwire/security/jwt */
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import type { Clock } from "../protocol/clock.ts";
import { systemClock } from "../protocol/clock.ts";
import type { Principal } from "../protocol/origin.ts";

export type { JSONWebKeySet, JWTPayload } from "jose";

export interface JwtOptions {
  /** Who must have issued the token: its claim `iss`. */
  readonly issuer: string | readonly string[];
  /** For whom it must be meant: its claim `aud`. A token for another service is not taken. */
  readonly audience: string | readonly string[];
  /** Which algorithms are taken, whatever the token says. HMAC must be named to be taken. @default RS256, PS256, ES256, EdDSA */
  readonly algorithms?: readonly string[];
  /** What the header `typ` must be, such as "at+jwt" for access tokens of RFC 9068. */
  readonly typ?: string;
  /** How far the clock of the issuer may differ. @default 60000 */
  readonly skewMs?: number;
  /** The keys themselves; or `jwksUrl`. */
  readonly keys?: JSONWebKeySet;
  /** Where the issuer publishes its keys; they are kept, and asked for again when an unknown one appears. */
  readonly jwksUrl?: string | URL;
  /** How long the keys of the URL are kept. @default 600000 */
  readonly cacheMs?: number;
  /** How long after asking for keys an unknown one does not make it ask again; stops floods through us. @default 30000 */
  readonly cooldownMs?: number;
  /** How long the URL may take to answer. @default 5000 */
  readonly timeoutMs?: number;
  /** Makes the principal of the claims; undefined refuses the token. It expires with the token, unless it says when. @default principalOf */
  readonly principal?: (claims: JWTPayload) => Principal | undefined;
  /** The clock that decides whether a token has expired, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
}

/** Without HMAC: where a public key is at hand, a token signed with it as a secret must not pass. */
const publicKeyAlgorithms = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"];

/** Tells who calls from a token; undefined for one that is not valid, and rejects when no keys can be had. */
export type JwtVerifier = (token: string) => Promise<Principal | undefined>;

/**
 * Verifies tokens: `bearer(jwt({ issuer, audience, jwksUrl }))`.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { authenticate, bearer } from "callwire/security";
 * import { jwt } from "callwire/security/jwt";
 *
 * const verify = jwt({
 *   issuer: "https://login.example.com",
 *   audience: "https://api.example.com",
 *   jwksUrl: "https://login.example.com/.well-known/jwks.json",
 * });
 * const guarded = createServer(methods, { use: [authenticate(bearer(verify))] });
 * ```
 */
export function jwt(options: JwtOptions): JwtVerifier {
  const { issuer, audience, typ, skewMs = 60_000, clock = systemClock } = options;
  const { algorithms = publicKeyAlgorithms, principal = principalOf } = options;
  if (!issuer?.length || !audience?.length) {
    throw new TypeError("jwt needs an issuer and an audience, or tokens for others would do");
  }
  // Or each call would fail with an internal error, since jose takes nothing else.
  if (!(skewMs >= 0)) throw new TypeError(`skewMs is a number of at least 0, not ${skewMs}`);
  if (algorithms.includes("none")) throw new TypeError('the algorithm "none" proves nothing');
  const findKey = keysOf(options);
  const rules = {
    issuer: typeof issuer === "string" ? issuer : [...issuer],
    audience: typeof audience === "string" ? audience : [...audience],
    algorithms: [...algorithms],
    clockTolerance: skewMs / 1000,
    // A token that never ends is a password.
    requiredClaims: ["exp"],
    ...(typ === undefined ? undefined : { typ }),
  };
  return async (token) => {
    try {
      const now = { currentDate: new Date(clock.now()) };
      const { payload } = await jwtVerify(token, findKey, { ...rules, ...now });
      const found = principal(payload);
      if (found === undefined || found.expiresAt !== undefined) return found;
      // A connection may outlive its token.
      return { ...found, expiresAt: (payload.exp ?? 0) * 1000 + skewMs };
    } catch (error) {
      if (isFaultOfToken(error)) return undefined;
      throw error;
    }
  };
}

/**
 * `sub` is the id; roles are in `roles`, scopes in `scope` or `scp`, and the claims are kept.
 * @example
 * ```ts
 * import { jwt, principalOf } from "callwire/security/jwt";
 *
 * const verify = jwt({
 *   issuer: "https://login.example.com",
 *   audience: "https://api.example.com",
 *   jwksUrl: "https://login.example.com/.well-known/jwks.json",
 *   principal: (claims) => (claims.email_verified === true ? principalOf(claims) : undefined),
 * });
 * ```
 */
export function principalOf(claims: JWTPayload): Principal | undefined {
  const { sub, roles, scope, scp } = claims;
  if (typeof sub !== "string" || sub === "") return undefined;
  return { id: sub, roles: names(roles), scopes: names(scope ?? scp), claims };
}

export interface OAuthChallengeOptions {
  /** Names the protected area to people. @default none */
  readonly realm?: string;
  /** The scopes that a token needs. */
  readonly scopes?: readonly string[];
  /** Where the metadata of the protected resource is (RFC 9728), from which clients find the issuer. */
  readonly resourceMetadata?: string | URL;
  /** What is wrong with the token that came. @default none, as for a request without a token */
  readonly error?: "invalid_request" | "invalid_token" | "insufficient_scope";
  /** One sentence on the error for developers. @default none */
  readonly errorDescription?: string;
}

/**
 * What `WWW-Authenticate` tells a client about the tokens to bring (RFC 6750 and 9728).
 * @example
 * ```ts
 * import { oauthChallenge } from "callwire/security/jwt";
 *
 * const resourceMetadata = "https://api.example.com/.well-known/oauth-protected-resource";
 * const headers = { "www-authenticate": oauthChallenge({ resourceMetadata, scopes: ["notes"] }) };
 * ```
 */
export function oauthChallenge(options: OAuthChallengeOptions = {}): string {
  const { realm, scopes, resourceMetadata, error, errorDescription } = options;
  const attributes = Object.entries({
    realm,
    error,
    error_description: errorDescription,
    scope: scopes?.join(" "),
    resource_metadata: resourceMetadata && String(resourceMetadata),
  }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${quoted(value)}`]));
  return attributes.length === 0 ? "Bearer" : `Bearer ${attributes.join(", ")}`;
}

function keysOf(options: JwtOptions): JWTVerifyGetKey {
  const { keys, jwksUrl, cacheMs, cooldownMs, timeoutMs } = options;
  if ((keys === undefined) === (jwksUrl === undefined)) {
    throw new TypeError("jwt needs either keys or a jwksUrl");
  }
  if (keys !== undefined) return createLocalJWKSet(keys);
  const url = new URL(jwksUrl as string | URL);
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !isLocal) {
    throw new TypeError("keys must come over https, or anybody on the way could give their own");
  }
  return createRemoteJWKSet(url, {
    cacheMaxAge: cacheMs ?? 600_000,
    cooldownDuration: cooldownMs ?? 30_000,
    timeoutDuration: timeoutMs ?? 5_000,
  });
}

/** That the keys could not be had is not the caller's fault, and must not look like it. */
function isFaultOfToken(error: unknown): boolean {
  return (
    error instanceof errors.JWTExpired ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JWTClaimValidationFailed ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JOSENotSupported ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys
  );
}

function names(value: unknown): readonly string[] {
  if (typeof value === "string") return value.split(" ").filter((name) => name !== "");
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

function quoted(value: string): string {
  return `"${value.replace(/[\\"]/g, "\\$&").replace(/[^\x20-\x7e]/g, "?")}"`;
}
