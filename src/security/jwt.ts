/** Bearer tokens in JWT format, with local keys or keys from a JWKS endpoint. @module callwire/security/jwt */
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
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
  /** Accepted algorithms, whatever the token says. @default RS256, PS256, ES256, EdDSA; HS256 with `secret` */
  readonly algorithms?: readonly string[];
  /** The required header `typ`, such as "at+jwt" for access tokens of RFC 9068. @default any */
  readonly typ?: string;
  /** How much the clock of the issuer may differ. @default 60000 */
  readonly skewMs?: number;
  /** Public keys of the issuer; one of `keys`, `jwksUrl` and `secret` is required. */
  readonly keys?: JSONWebKeySet;
  /**
   * The secret that issuer and server share, for HMAC: bytes, or a string that is used as UTF-8. It must be as long as
   * the hash (32 bytes for HS256), since a shorter one can be guessed from a token. Of several, any may have signed,
   * so that a secret can be replaced.
   */
  readonly secret?: Secret | readonly Secret[];
  /** Where the issuer publishes its keys. They are cached, and fetched again for an unknown key id. */
  readonly jwksUrl?: string | URL;
  /** How long keys from the URL are cached. @default 600000 */
  readonly cacheMs?: number;
  /** Least time between two fetches for unknown keys; stops callers from flooding the issuer. @default 30000 */
  readonly cooldownMs?: number;
  /** Timeout for fetching the keys. @default 5000 */
  readonly timeoutMs?: number;
  /** Makes a principal from the claims; undefined refuses the token. It expires with the token unless it has `expiresAt`. @default principalOf */
  readonly principal?: (claims: JWTPayload) => Principal | undefined;
  /** The time of day, for the dates in tokens. @default the system clock */
  readonly clock?: Clock;
}

/** A secret of HMAC. */
export type Secret = string | Uint8Array;

/** Without HMAC: otherwise a token signed with the public key as the secret would pass. */
const publicKeyAlgorithms = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"];

/**
 * Finds the principal of a token; undefined if it is not valid, and then `explain` gets the reason. Rejects if the keys
 * cannot be fetched.
 */
export type JwtVerifier = (
  token: string,
  explain?: (reason: string) => void,
) => Promise<Principal | undefined>;

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
  const { secret, principal = principalOf } = options;
  const { algorithms = secret === undefined ? publicKeyAlgorithms : ["HS256"] } = options;
  if (!issuer?.length || !audience?.length) {
    throw new TypeError(
      "jwt needs an issuer and an audience; without them tokens for other services would be accepted",
    );
  }
  // jose throws for any other value, which would make each call an internal error.
  if (!(skewMs >= 0)) throw new TypeError(`skewMs must be a number of at least 0, not ${skewMs}`);
  if (algorithms.includes("none"))
    throw new TypeError('the algorithm "none" must not be allowed, since it has no signature');
  const keys = keysOf(options, algorithms);
  const rules = {
    issuer: typeof issuer === "string" ? issuer : [...issuer],
    audience: typeof audience === "string" ? audience : [...audience],
    algorithms: [...algorithms],
    clockTolerance: skewMs / 1000,
    // A token without an expiry date could be used forever.
    requiredClaims: ["exp"],
    ...(typ === undefined ? undefined : { typ }),
  };
  return async (token, explain) => {
    try {
      const now = { currentDate: new Date(clock.now()) };
      const payload = await claimsOf(token, keys, { ...rules, ...now });
      const found = principal(payload);
      if (found === undefined) explain?.("its claims give no principal");
      if (found === undefined || found.expiresAt !== undefined) return found;
      // A connection may outlive its token.
      return { ...found, expiresAt: (payload.exp ?? 0) * 1000 + skewMs };
    } catch (error) {
      if (!isFaultOfToken(error)) throw error;
      explain?.(error.message);
      return undefined;
    }
  };
}

/** The claims of a token that one of the keys signed. */
async function claimsOf(
  token: string,
  [findKey, ...others]: readonly [JWTVerifyGetKey, ...JWTVerifyGetKey[]],
  rules: JWTVerifyOptions,
): Promise<JWTPayload> {
  const [next, ...rest] = others;
  try {
    return (await jwtVerify(token, findKey, rules)).payload;
  } catch (error) {
    if (next === undefined || !(error instanceof errors.JWSSignatureVerificationFailed))
      throw error;
    return claimsOf(token, [next, ...rest], rules);
  }
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

/** Where keys are looked up; more than one only for several secrets. */
function keysOf(
  options: JwtOptions,
  algorithms: readonly string[],
): readonly [JWTVerifyGetKey, ...JWTVerifyGetKey[]] {
  const { keys, jwksUrl, secret, cacheMs, cooldownMs, timeoutMs } = options;
  if ([keys, jwksUrl, secret].filter((given) => given !== undefined).length !== 1) {
    throw new TypeError("jwt needs either keys, jwksUrl or secret");
  }
  if (secret !== undefined) return secretsOf(secret, algorithms);
  if (keys !== undefined) {
    if (keys.keys.some(({ kty }) => kty === "oct")) {
      throw new TypeError('"keys" must hold public keys only; pass a shared secret as "secret"');
    }
    return [createLocalJWKSet(keys)];
  }
  const url = new URL(jwksUrl as string | URL);
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !isLocal) {
    throw new TypeError("jwksUrl must use https, or anyone on the network could replace the keys");
  }
  const settings = {
    cacheMaxAge: cacheMs ?? 600_000,
    cooldownDuration: cooldownMs ?? 30_000,
    timeoutDuration: timeoutMs ?? 5_000,
  };
  return [createRemoteJWKSet(url, settings)];
}

function secretsOf(
  given: Secret | readonly Secret[],
  algorithms: readonly string[],
): readonly [JWTVerifyGetKey, ...JWTVerifyGetKey[]] {
  const sizes = algorithms.map((name) => Number(/^HS(256|384|512)$/.exec(name)?.[1]) / 8);
  const least = Math.max(...sizes);
  if (!(least > 0)) {
    const names = algorithms.join(", ");
    throw new TypeError(`"algorithms" with "secret" must be HS256, HS384 or HS512, not ${names}`);
  }
  const secrets: readonly Secret[] = typeof given === "string" || isBytes(given) ? [given] : given;
  const [first, ...others] = secrets.map((secret): JWTVerifyGetKey => {
    const bytes = typeof secret === "string" ? new TextEncoder().encode(secret) : secret;
    if (!(isBytes(bytes) && bytes.length >= least)) {
      const length = `${bytes?.length ?? "no"} bytes`;
      throw new TypeError(`"secret" must have at least ${least} bytes, not ${length}`);
    }
    // jose accepts only bytes of its own realm.
    const key = new Uint8Array(bytes);
    return () => key;
  });
  if (first === undefined) throw new TypeError('"secret" must not be an empty array');
  return [first, ...others];
}

/** Also for bytes of another realm: test environments such as jsdom replace the global Uint8Array, but not TextEncoder. */
function isBytes(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === "[object Uint8Array]";
}

/** False if fetching the keys failed, which is not the fault of the caller. */
function isFaultOfToken(error: unknown): error is Error {
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
