import type { AuthScheme } from "../protocol/credentials.ts";
import type { ErrorObject, MaybePromise } from "../protocol/message.ts";
import type { Principal, Transport } from "../protocol/origin.ts";

/** One way to authenticate a caller. */
export interface Credential {
  /** The challenge of this scheme in `WWW-Authenticate`. @default none */
  readonly challenge?: string;
  /** How callers present it, for descriptions of the service. @default not described */
  readonly scheme?: AuthScheme;
  /** Returns the principal, undefined if this credential is not present, or an error if it is not valid. */
  verify(transport: Transport): MaybePromise<Principal | undefined | ErrorObject>;
}

/**
 * Writes `WWW-Authenticate` with the challenges of all credentials. A refused credential adds its
 * attributes to its own challenge, such as `Bearer error="invalid_token"`.
 */
export function challenger(
  credentials: readonly Credential[],
  realm: string,
): (refused?: string) => string {
  const base = `realm="${realm.replace(/["\\]/g, "\\$&")}"`;
  const withRealm = (challenge: string): string =>
    hasRealm(challenge) ? challenge : join(`${schemeOf(challenge)} ${base}`, challenge);
  const named = credentials.flatMap(({ challenge }) => challenge ?? []);
  // A 401 must name a scheme; credentials without one use certificates.
  const all = [...new Set(named.length === 0 ? ["ClientCertificate"] : named)].map(withRealm);
  const general = all.join(", ");
  return (refused) => {
    if (refused === undefined) return general;
    const own = all.findIndex((challenge) => isSameScheme(challenge, refused));
    const known = all[own];
    if (known === undefined) return [withRealm(refused), ...all].join(", ");
    return all.with(own, hasRealm(refused) ? refused : join(known, refused)).join(", ");
  };
}

function hasRealm(challenge: string): boolean {
  return /\srealm=/i.test(challenge);
}

function schemeOf(challenge: string): string {
  return /^\S*/.exec(challenge)?.[0] ?? "";
}

function isSameScheme(one: string, other: string): boolean {
  return schemeOf(one).toLowerCase() === schemeOf(other).toLowerCase();
}

/** Appends the attributes of the second challenge to the first. */
function join(challenge: string, further: string): string {
  const attributes = further.slice(schemeOf(further).length).trim();
  return attributes === "" ? challenge : `${challenge}, ${attributes}`;
}
