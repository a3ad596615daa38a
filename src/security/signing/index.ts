/** Signed messages on every wire, and nonce stores against replays. @module callwire/security/signing */
export type { HttpSigner, SealMaker } from "../../protocol/seal.ts";
export type { Credential } from "../credential.ts";
export type { Nonce, NonceDecision, NonceStore } from "../nonce-store.ts";
export { MemoryNonces, type MemoryNoncesOptions, memoryNonces } from "../nonce-store.ts";
export type { RedisClient } from "../redis-limits.ts";
export { type RedisNoncesOptions, redisNonces } from "../redis-nonces.ts";
export { canonicalJson } from "./canonical-json.ts";
export type { FreshnessOptions } from "./freshness.ts";
export { contentDigest } from "./http-signature.ts";
export { type HttpSignerOptions, httpSigner } from "./http-signer.ts";
export {
  createSigningKey,
  type KeySource,
  type SigningAlgorithm,
  type SigningKey,
} from "./key.ts";
export type { SignatureFault } from "./signature-errors.ts";
export { type SignedMessagesOptions, signedMessages } from "./signed-messages.ts";
export {
  refuseReplays,
  type SignedParamsOptions,
  type SignParamsOptions,
  signedParams,
  signParams,
} from "./signed-params.ts";
export { type SignedRequestsOptions, signedRequests } from "./signed-requests.ts";
