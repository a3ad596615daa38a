import { createHash } from "node:crypto";
import type { Nonce } from "./nonces.ts";

/** Stands for a nonce in a store: the same length for any, and nothing in it that a caller chose. */
export function nonceKey({ owner, value }: Nonce): string {
  return createHash("sha256").update(`${owner.length}:${owner}${value}`).digest("base64url");
}
