import type { ErrorObject, MaybePromise } from "../protocol/message.ts";
import type { Principal, Transport } from "../protocol/origin.ts";

/** One way to say who calls. */
export interface Credential {
  /** What `WWW-Authenticate` says about it. */
  readonly challenge?: string;
  /** Undefined where this credential is not present; an error where it is and is not valid. */
  verify(transport: Transport): MaybePromise<Principal | undefined | ErrorObject>;
}

/**
 * Writes `WWW-Authenticate`: the ways to do better, which are the same for everybody. A credential that
 * was refused adds to its own what is wrong with it, as `Bearer error="invalid_token"` does.
 */
export function challenger(
  credentials: readonly Credential[],
  realm: string,
): (refused?: string) => string {
  const base = `realm="${realm.replace(/["\\]/g, "\\$&")}"`;
  const withRealm = (challenge: string): string =>
    hasRealm(challenge) ? challenge : join(`${schemeOf(challenge)} ${base}`, challenge);
  const named = credentials.flatMap(({ challenge }) => challenge ?? []);
  // A 401 must name something; where nothing has a name in HTTP, a certificate is meant.
  const all = [...new Set(named.length === 0 ? ["ClientCertificate"] : named)].map(withRealm);
  const everybody = all.join(", ");
  return (refused) => {
    if (refused === undefined) return everybody;
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

/** The first challenge, and the attributes of the second. */
function join(challenge: string, further: string): string {
  const attributes = further.slice(schemeOf(further).length).trim();
  return attributes === "" ? challenge : `${challenge}, ${attributes}`;
}
