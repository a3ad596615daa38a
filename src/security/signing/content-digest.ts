import { createHash, timingSafeEqual } from "node:crypto";
import { bytesText, isInnerList, parseDictionary } from "./structured-fields.ts";

/**
 * The header `Content-Digest` of a body (RFC 9530).
 * @example
 * ```ts
 * import { contentDigest } from "callwire/security/signing";
 *
 * const body = '{"jsonrpc":"2.0","method":"echo","params":["hi"],"id":1}';
 * const headers = { "content-type": "application/json", "content-digest": contentDigest(body) };
 * ```
 */
export function contentDigest(body: string): string {
  return `sha-256=${bytesText(digest("sha256", body))}`;
}

const algorithms = new Map([
  ["sha-256", "sha256"],
  ["sha-512", "sha512"],
]);

/** Whether a body is the one that the header names: each digest that we know fits, and there is one. */
export function fitsContentDigest(body: string, header: string): boolean {
  let known = 0;
  for (const [name, member] of parseDictionary(header) ?? []) {
    const algorithm = algorithms.get(name);
    if (algorithm === undefined) continue;
    if (isInnerList(member) || !(member.value instanceof Uint8Array)) return false;
    const own = digest(algorithm, body);
    if (own.length !== member.value.length || !timingSafeEqual(own, member.value)) return false;
    known++;
  }
  return known > 0;
}

function digest(algorithm: string, body: string): Buffer {
  return createHash(algorithm).update(body).digest();
}
