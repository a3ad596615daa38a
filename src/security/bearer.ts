import { isThenable, type MaybePromise } from "../protocol/message.ts";
import type { Principal } from "../protocol/origin.ts";
import { type Refusal, unauthenticated } from "./access-errors.ts";
import type { Credential } from "./credential.ts";

/**
 * Finds the principal of a token; undefined if the token is not valid. It may say why with `explain`: the reason goes to
 * the logs, never to the caller.
 */
export type VerifyToken = (
  token: string,
  explain: (reason: string) => void,
) => MaybePromise<Principal | undefined>;

/** Longest `Authorization` header that is parsed, in characters. */
const longestToken = 8 * 1024;
const scheme = /^bearer +([\w.~+/-]+=*)$/i;

const invalidToken: Refusal = {
  ...unauthenticated("the token is not valid"),
  headers: { "www-authenticate": 'Bearer error="invalid_token"' },
};

/**
 * Takes tokens from `Authorization: Bearer …` and verifies them with the given function.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { authenticate, bearer } from "callwire/security";
 *
 * const sessions = new Map([["d2hhdCBhIHRva2Vu", { id: "ann", roles: ["member"] }]]);
 * const guarded = createServer(methods, {
 *   use: [authenticate(bearer((token) => sessions.get(token)))],
 * });
 * ```
 */
export function bearer(verify: VerifyToken): Credential {
  return {
    challenge: "Bearer",
    scheme: { type: "http", scheme: "bearer" },
    verify(transport) {
      const { authorization } = transport.headers;
      if (typeof authorization !== "string" || !/^bearer\b/i.test(authorization)) return undefined;
      const [, token] =
        authorization.length > longestToken ? [] : (scheme.exec(authorization) ?? []);
      if (token === undefined) return invalidToken;
      return verifiedOr(invalidToken, verify, token);
    },
  };
}

/** The principal of the token, or the refusal with the reason that `verify` gave. */
export function verifiedOr(
  refusal: Refusal,
  verify: VerifyToken,
  token: string,
): MaybePromise<Principal | Refusal> {
  let refused = refusal;
  const principal = verify(token, (reason) => {
    refused = { ...refusal, reason: `${refusal.reason}: ${reason}` };
  });
  return isThenable(principal)
    ? principal.then((found) => found ?? refused)
    : (principal ?? refused);
}

/**
 * Compares two secrets in constant time; only a different length shows in the time.
 * @example
 * ```ts
 * import { bearer, equalSecrets } from "callwire/security";
 *
 * const secret = process.env.RPC_TOKEN ?? crypto.randomUUID();
 * const operator = bearer((token) => (equalSecrets(token, secret) ? { id: "operator" } : undefined));
 * ```
 */
export function equalSecrets(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}
