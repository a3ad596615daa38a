/** What the signature itself costs, with the text to sign given. */
import {
  createHash,
  createHmac,
  createPublicKey,
  sign,
  timingSafeEqual,
  verify,
} from "node:crypto";
import { body, ed25519, hmac, nonce } from "./material.mjs";

const base = [
  '"@method": POST',
  '"@authority": 127.0.0.1:8000',
  '"@path": /rpc',
  '"content-type": application/json',
  `"content-digest": sha-256=:${createHash("sha256").update(body).digest("base64")}:`,
  '"@signature-params": ("@method" "@authority" "@path" "content-type" "content-digest");created=1800000000',
].join("\n");

function hmacOf(text, withDigest) {
  const secret = Buffer.from(hmac.signer.key, "base64url");
  const expected = createHmac("sha256", secret).update(text).digest();
  const digest = createHash("sha256").update(body).digest();
  return () => {
    if (withDigest && !timingSafeEqual(createHash("sha256").update(body).digest(), digest)) {
      throw new Error("the digest differs");
    }
    if (!timingSafeEqual(createHmac("sha256", secret).update(text).digest(), expected)) {
      throw new Error("the signature differs");
    }
  };
}

export default () => ({
  "HTTP, HMAC": () => hmacOf(base, true),
  "message, HMAC": () => hmacOf(body, false),
  "params, HMAC": () => hmacOf(body, false),
  "HTTP, Ed25519": () => {
    const key = createPublicKey(ed25519.verifier.key);
    const signature = sign(null, Buffer.from(base), ed25519.signer.key);
    return () => {
      if (!verify(null, Buffer.from(base), key, signature)) throw new Error("not verified");
    };
  },
  nonce: () => {
    let young = new Set();
    let old = new Set();
    let i = 0;
    return () => {
      const value = `client-1 ${nonce(i++)}`;
      if (young.has(value) || old.has(value)) throw new Error("seen before");
      young.add(value);
      if (young.size === 500_000) {
        old = young;
        young = new Set();
      }
    };
  },
  fill(count) {
    const all = new Set();
    for (let i = 0; i < count; i++) all.add(`client-1 ${nonce(i)}`);
    return () => all.size;
  },
});
