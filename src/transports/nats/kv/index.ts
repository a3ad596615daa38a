/** State that workers share in buckets of NATS (`callwire/nats/kv`). @module */
export { type IdempotencyOptions, idempotency } from "./idempotency.ts";
export { type NatsLimits, natsLimits } from "./limits.ts";
export { type NatsNonces, natsNonces } from "./nonces.ts";
