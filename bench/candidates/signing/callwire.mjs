import { Origin } from "callwire";
import {
  httpSigner,
  memoryNonces,
  signedMessages,
  signedParams,
  signedRequests,
  signParams,
} from "callwire/security/signing";
import { body, call, ed25519, hmac, nonce } from "./material.mjs";

/** The store has its own row; here the same signature is verified repeatedly. */
const nonces = { take: () => "new" };

async function overHttp({ signer, verifier }) {
  const url = "http://127.0.0.1:8000/rpc";
  const headers = await httpSigner({ key: signer }).sign({
    method: "POST",
    url,
    headers: { "content-type": "application/json" },
    body,
  });
  const credential = signedRequests({ keys: [verifier], nonces, skewMs: 3_600_000 });
  return () => {
    const http = {
      method: "POST",
      authority: "127.0.0.1:8000",
      target: "/rpc",
      body,
      signReply: undefined,
    };
    const who = credential.verify({ kind: "http", headers, remoteAddress: undefined, http });
    if (who.id !== "client-1") throw new Error("refused");
  };
}

export default () => ({
  "HTTP, HMAC": () => overHttp(hmac),
  "HTTP, Ed25519": () => overHttp(ed25519),
  "message, HMAC": () => {
    const sender = signedMessages({ key: hmac.signer })();
    const texts = Array.from({ length: 1_000 }, () => sender.seal(body));
    const seal = signedMessages({ keys: [hmac.verifier], nonces, skewMs: 3_600_000 });
    const origin = new Origin();
    let opener;
    let i = 0;
    // A connection accepts each message once, so repeating the same ones needs a new connection.
    return () => {
      if (i % texts.length === 0) opener = seal();
      if (opener.open(texts[i++ % texts.length], origin) !== body) throw new Error("refused");
    };
  },
  "params, HMAC": async () => {
    let signed;
    await signParams({ key: hmac.signer })((request) => {
      signed = request;
      return undefined;
    })(call, {});
    const guard = signedParams({ keys: [hmac.verifier], nonces, skewMs: 3_600_000 });
    const handle = guard(() => undefined);
    return async () => {
      const reply = await handle(signed, {});
      if (reply !== undefined) throw new Error("refused");
    };
  },
  nonce: () => {
    let now = 1_800_000_000_000;
    const clock = { now: () => now, elapsed: () => now, after: () => ({ cancel() {} }) };
    const store = memoryNonces({ clock, capacity: 1_000_001, quota: 1_000_001 });
    let i = 0;
    // Two generations of half a million: the most that the store may hold.
    return () => {
      if (i % 500_000 === 499_999) now += 120_001;
      const value = nonce(i++);
      const verdict = store.take({ owner: "client-1", value, createdAt: now, expiresAt: now });
      if (verdict !== "new") throw new Error(verdict);
    };
  },
  fill(count) {
    const store = memoryNonces({ capacity: count, quota: count });
    const now = Date.now();
    for (let i = 0; i < count; i++) {
      store.take({ owner: "client-1", value: nonce(i), createdAt: now, expiresAt: now });
    }
    return () => store.size;
  },
});
