/** Bearer tokens in JWT format, with local keys or keys from a JWKS endpoint. @module callwire/security/jwt */
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
  /** Accepted issuers: the claim `iss`. */
  readonly issuer: string | readonly string[];
  /** Accepted audiences: the claim `aud`. Stops tokens issued for another service. */
  readonly audience: string | readonly string[];
  /** Accepted algorithms, whatever the token says. HMAC is accepted only if listed. @default RS256, PS256, ES256, EdDSA */
  readonly algorithms?: readonly string[];
  /** The required header `typ`, such as "at+jwt" for access tokens of RFC 9068. @default any */
  readonly typ?: string;
  /** How much the clock of the issuer may differ. @default 60000 */
  readonly skewMs?: number;
  /** The keys; either this or `jwksUrl` is required. */
  readonly keys?: JSONWebKeySet;
  /** Where the issuer publishes its keys. They are cached, and fetched again for an unknown key id. */
  readonly jwksUrl?: string | URL;
  /** How long keys from the URL are cached. @default 600000 */
  readonly cacheMs?: number;
  /** Least time between two fetches for unknown keys; stops callers from flooding the issuer. @default 30000 */
  readonly cooldownMs?: number;
  /** Time-out for fetching the keys. @default 5000 */
  readonly timeoutMs?: number;
  /** Makes a principal from the claims; undefined refuses the token. It expires with the token unless it has `expiresAt`. @default principalOf */
  readonly principal?: (claims: JWTPayload) => Principal | undefined;
  /** The time of day, for the dates in tokens. @default the system clock */
  readonly clock?: Clock;
}

/** Without HMAC: otherwise a token signed with the public key as the secret would pass. */
const publicKeyAlgorithms = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"];

/** Finds the principal of a token; undefined if it is not valid. Rejects if the keys cannot be fetched. */
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
    throw new TypeError(
      "jwt needs an issuer and an audience; without them tokens for other services would be accepted",
    );
  }
  // jose throws for any other value, which would make each call an internal error.
  if (!(skewMs >= 0)) throw new TypeError(`skewMs must be a number of at least 0, not ${skewMs}`);
  if (algorithms.includes("none"))
    throw new TypeError('the algorithm "none" must not be allowed, since it has no signature');
  const findKey = keysOf(options);
  const rules = {
    issuer: typeof issuer === "string" ? issuer : [...issuer],
    audience: typeof audience === "string" ? audience : [...audience],
    algorithms: [...algorithms],
    clockTolerance: skewMs / 1000,
    // A token without an expiry date could be used forever.
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
 * Takes the id from `sub`, roles from `roles`, scopes from `scope` or `scp`, and keeps all claims.
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
  /** The protection space. @default none */
  readonly realm?: string;
  /** The scopes that a token needs. @default none */
  readonly scopes?: readonly string[];
  /** URL of the protected resource metadata (RFC 9728), where clients find the issuer. @default none */
  readonly resourceMetadata?: string | URL;
  /** What was wrong with the token. @default none, as for a request without a token */
  readonly error?: "invalid_request" | "invalid_token" | "insufficient_scope";
  /** Explains `error` to a developer. @default none */
  readonly errorDescription?: string;
}

/**
 * Writes the `WWW-Authenticate` challenge for bearer tokens (RFC 6750 and 9728).
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
    throw new TypeError("jwt needs either keys or jwksUrl");
  }
  if (keys !== undefined) return createLocalJWKSet(keys);
  const url = new URL(jwksUrl as string | URL);
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !isLocal) {
    throw new TypeError("jwksUrl must use https, or anyone on the network could replace the keys");
  }
  return createRemoteJWKSet(url, {
    cacheMaxAge: cacheMs ?? 600_000,
    cooldownDuration: cooldownMs ?? 30_000,
    timeoutDuration: timeoutMs ?? 5_000,
  });
}

/** False if fetching the keys failed, which is not the fault of the caller. */
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
