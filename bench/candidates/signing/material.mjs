/** Keys, a call of about half a kibibyte, and nonces, the same for all. */
import { createSigningKey } from "callwire/security/signing";

export const hmac = createSigningKey("hmac-sha256", "client-1");
export const ed25519 = createSigningKey("ed25519", "client-1");

export const call = {
  jsonrpc: "2.0",
  method: "orders/place",
  params: { item: "a".repeat(400), amount: 100, tags: ["x", "y"] },
  id: 1,
};
export const body = JSON.stringify(call);

/** As long as 128 random bits in base64url. */
export function nonce(i) {
  return `nonce-${`${i}`.padStart(16, "0")}`;
}
