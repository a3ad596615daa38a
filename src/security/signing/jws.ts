import type { Key, SigningAlgorithm } from "./key.ts";

/** The header of a JSON Web Signature whose payload travels beside it as it is (RFC 7797). */
export interface JwsHeader {
  readonly alg?: unknown;
  readonly kid?: unknown;
  readonly b64?: unknown;
  readonly crit?: unknown;
  /** When it was made and from when on it is not valid, in seconds since the epoch. */
  readonly iat?: unknown;
  readonly exp?: unknown;
  readonly nonce?: unknown;
  /** Names the sender's end of the connection, and the receiver's where the sender knows it. */
  readonly sid?: unknown;
  readonly to?: unknown;
  /** Counts the messages of a sender. */
  readonly seq?: unknown;
}

const algNames: Readonly<Record<SigningAlgorithm, readonly string[]>> = {
  "hmac-sha256": ["HS256"],
  ed25519: ["EdDSA", "Ed25519"],
};

/** `<header>..<signature>`; the payload between the dots is left out. */
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

/** Longest signature with its header; nobody needs more. */
const maxLength = 4096;

/** Reads one without believing it; undefined where it is none. */
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
  // What must be understood is "b64" and nothing else.
  const isKnown = b64 === false && Array.isArray(crit) && crit.length === 1 && crit[0] === "b64";
  return (
    isKnown &&
    algNames[key.alg].includes(alg as string) &&
    key.verify(`${protectedText}.${payload}`, signature)
  );
}
