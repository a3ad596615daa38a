import type { Key, SigningAlgorithm } from "./key.ts";

/** The header of a JWS with an unencoded, detached payload (RFC 7797). */
export interface JwsHeader {
  readonly alg?: unknown;
  readonly kid?: unknown;
  readonly b64?: unknown;
  readonly crit?: unknown;
  /** Time of creation and of expiry, in seconds since the epoch. */
  readonly iat?: unknown;
  readonly exp?: unknown;
  readonly nonce?: unknown;
  /** Id of the sender on this connection, and in `to` that of the receiver once known. */
  readonly sid?: unknown;
  readonly to?: unknown;
  /** Sequence number of the message. */
  readonly seq?: unknown;
}

const algNames: Readonly<Record<SigningAlgorithm, readonly string[]>> = {
  "hmac-sha256": ["HS256"],
  ed25519: ["EdDSA", "Ed25519"],
};

/** Writes `<header>..<signature>`, without the payload between the dots. */
export function signDetached(key: Key, header: JwsHeader, payload: string): string {
  const full = { alg: algNames[key.alg][0], kid: key.kid, b64: false, crit: ["b64"], ...header };
  const protectedText = Buffer.from(JSON.stringify(full)).toString("base64url");
  return `${protectedText}..${key.sign(`${protectedText}.${payload}`).toString("base64url")}`;
}

export interface DetachedJws {
  readonly header: JwsHeader;
  readonly protectedText: string;
  readonly signature: Uint8Array;
}

/** Longest JWS that is parsed, in characters. */
const maxLength = 4096;

/** Parses a JWS without verifying it; undefined if it is malformed. */
export function parseDetached(jws: string): DetachedJws | undefined {
  const [, protectedText, signature] = /^([\w-]+)\.\.([\w-]+)$/.exec(jws) ?? [];
  if (protectedText === undefined || signature === undefined || jws.length > maxLength) {
    return undefined;
  }
  try {
    const header: unknown = JSON.parse(Buffer.from(protectedText, "base64url").toString());
    if (typeof header !== "object" || header === null || Array.isArray(header)) return undefined;
    return { header, protectedText, signature: Buffer.from(signature, "base64url") };
  } catch {
    return undefined;
  }
}

export function isValidDetached(
  key: Key,
  { header, protectedText, signature }: DetachedJws,
  payload: string,
): boolean {
  const { alg, b64, crit } = header;
  // Other critical extensions are not supported.
  const isKnown = b64 === false && Array.isArray(crit) && crit.length === 1 && crit[0] === "b64";
  return (
    isKnown &&
    algNames[key.alg].includes(alg as string) &&
    key.verify(`${protectedText}.${payload}`, signature)
  );
}
