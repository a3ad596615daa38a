/** State that workers share in buckets of NATS. @module callwire/nats/kv */
export { type IdempotencyOptions, idempotency } from "./idempotency.ts";
export { type NatsLimits, natsLimits } from "./limits.ts";
export { type NatsNonces, natsNonces } from "./nonces.ts";
