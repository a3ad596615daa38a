/** State that workers share in NATS key-value buckets. @module callwire/nats/kv */
export { type IdempotencyOptions, idempotency } from "./idempotency.ts";
export { type NatsLimits, natsLimits } from "./limits.ts";
export { type NatsNonces, natsNonces } from "./nonces.ts";
export { type NatsWorkOptions, natsWork } from "./work.ts";
