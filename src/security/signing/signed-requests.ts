import { isThenable, type MaybePromise } from "../../protocol/message.ts";
import type { Principal, Transport } from "../../protocol/origin.ts";
import type { HttpRequestFacts } from "../../protocol/seal.ts";
import type { Credential } from "../credential.ts";
import { Freshness, type FreshnessOptions } from "./freshness.ts";
import {
  arrivedRequest,
  component,
  contentDigest,
  covers,
  type FoundSignature,
  fitsContentDigest,
  queryOf,
  type SignedMessage,
  signatureBase,
  signatureHeaders,
  signaturesOf,
} from "./http-signature.ts";
import { type Key, KeyRing, type KeySource, type SigningKey, signerOf } from "./key.ts";
import { type SignatureRefusal, signatureChallenge, signatureInvalid } from "./signature-errors.ts";

export interface SignedRequestsOptions extends FreshnessOptions {
  /** Keys that may sign. */
  readonly keys: KeySource;
  /** Signs the replies to signed requests; without it they are not signed. @default none */
  readonly replyKey?: SigningKey;
}

type Decision = Principal | SignatureRefusal;

/**
 * Verifies HTTP requests signed according to RFC 9421. The signature must cover the method, host, path
 * and query, the content type and the digest of the body. A batch is one request with one nonce.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { authenticate } from "callwire/security";
 * import { createSigningKey, signedRequests } from "callwire/security/signing";
 *
 * const { verifier } = createSigningKey("ed25519", "client-1");
 * const guarded = createServer(methods, {
 *   use: [authenticate(signedRequests({ keys: [verifier] }))],
 * });
 * ```
 */
export function signedRequests(options: SignedRequestsOptions): Credential {
  const ring = new KeyRing(options.keys);
  const replyKey = options.replyKey === undefined ? undefined : signerOf(options.replyKey);
  const freshness = new Freshness(options);
  // The calls of a batch share one request, whose nonce must be taken once.
  const judged = new WeakMap<Transport, MaybePromise<Decision>>();

  const accept = (
    key: Key,
    { label, input }: FoundSignature,
    http: HttpRequestFacts,
    request: SignedMessage,
  ): MaybePromise<Decision> => {
    const { parameters } = input;
    const refused = freshness.refuse(key.kid, {
      created: parameters.get("created"),
      expires: parameters.get("expires"),
      nonce: parameters.get("nonce"),
    });
    const settle = (refusal: SignatureRefusal | undefined): Decision => {
      if (refusal !== undefined) return refusal;
      if (replyKey !== undefined) {
        const signReply: HttpRequestFacts["signReply"] = (status, body) =>
          replySignature(replyKey, request, label, status, body, freshness.clock.now());
        http.signReply = signReply;
      }
      return key.principal;
    };
    return isThenable(refused) ? refused.then(settle) : settle(refused);
  };

  const judge = (transport: Transport, http: HttpRequestFacts): MaybePromise<Decision> => {
    const request = arrivedRequest(http, transport.headers);
    const now = freshness.clock.now();
    const check = (key: Key | undefined, found: FoundSignature): MaybePromise<Decision> => {
      const base = key === undefined ? undefined : signatureBase(request, found.input);
      if (key === undefined || base === undefined) return signatureInvalid;
      const valid =
        fitsAlgorithm(key, found) &&
        coversEnough(found, http) &&
        key.verify(base, found.signature) &&
        fitsBody(http, request);
      return valid ? accept(key, found, http, request) : signatureInvalid;
    };
    const found = signaturesOf(request)?.find(({ input }) => input.parameters.has("keyid"));
    const kid = found?.input.parameters.get("keyid");
    if (found === undefined || typeof kid !== "string") return signatureInvalid;
    const key = ring.find(kid, now);
    return isThenable(key) ? key.then((each) => check(each, found)) : check(key, found);
  };

  return {
    challenge: signatureChallenge,
    verify(transport) {
      const { http, headers } = transport;
      if (http === undefined || headers["signature-input"] === undefined) return undefined;
      let decision = judged.get(transport);
      if (decision === undefined) {
        decision = judge(transport, http);
        judged.set(transport, decision);
      }
      return decision;
    },
  };
}

/** A message may repeat the algorithm of the key, but not choose another. */
function fitsAlgorithm(key: Key, { input }: FoundSignature): boolean {
  const named = input.parameters.get("alg");
  return named === undefined || named === key.alg;
}

/** Anything that a signature does not cover could be changed on the way. */
function coversEnough({ input }: FoundSignature, { method, target }: HttpRequestFacts): boolean {
  return (
    headComponents.every((name) => covers(input, name)) &&
    (method !== "POST" || bodyComponents.every((name) => covers(input, name))) &&
    // An empty query is equivalent to none, and clients treat it so.
    ((queryOf(target) ?? "?") === "?" || covers(input, "@query"))
  );
}

const headComponents = ["@method", "@authority", "@path"];
const bodyComponents = ["content-type", "content-digest"];

function fitsBody({ method, body }: HttpRequestFacts, request: SignedMessage): boolean {
  if (method !== "POST") return true;
  const header = request.header("content-digest");
  return body !== undefined && header !== undefined && fitsContentDigest(body, header);
}

/** Covers the signature of the request and so its nonce, which binds the reply to this request. */
function replySignature(
  key: Key,
  request: SignedMessage,
  label: string,
  status: number,
  body: string,
  now: number,
): Readonly<Record<string, string>> {
  const digest = contentDigest(body);
  const reply: SignedMessage = {
    derived: () => `${status}`,
    header: () => digest,
    request,
  };
  const components = [
    component("@status"),
    component("content-digest"),
    component("signature", [
      ["key", label],
      ["req", true],
    ]),
  ];
  const created = Math.floor(now / 1000);
  const signed = signatureHeaders(reply, key, components, new Map([["created", created]]));
  return { "content-digest": digest, ...signed };
}
