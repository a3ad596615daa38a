/** Authentication, authorization, rate limits, audit log and error disclosure. @module callwire/security */
export type { AccessRule } from "../protocol/access.ts";
export type { AuthScheme } from "../protocol/credentials.ts";
export { type AuditLogOptions, type AuditSink, auditLog } from "./audit-log.ts";
export { type AuthenticateOptions, authenticate } from "./authenticate.ts";
export { authorize, type Policy, type PolicyRule } from "./authorize.ts";
export { bearer, equalSecrets, type VerifyToken } from "./bearer.ts";
export {
  type EnvironmentTokenOptions,
  environmentToken,
  type MutualTlsOptions,
  mutualTls,
  type TrustedProcessOptions,
  trustedProcess,
} from "./connection-credentials.ts";
export type { Credential } from "./credential.ts";
export {
  type DiscloseErrorsOptions,
  discloseErrors,
  type ErrorLevel,
} from "./disclose-errors.ts";
export {
  type Bucket,
  type LimitStore,
  type MemoryLimits,
  type MemoryLimitsOptions,
  memoryLimits,
  type Taken,
} from "./limit-store.ts";
export { type RateLimitOptions, rateLimit } from "./rate-limit.ts";
export type { RedisClient } from "./redis-limits.ts";
export { type RedisLimitsOptions, redisLimits } from "./redis-limits.ts";
export { type SecureDefaultsOptions, secureDefaults } from "./secure-defaults.ts";
export { type ShedLoadOptions, shedLoad } from "./shed-load.ts";
export { type TicketOptions, ticketProtocols, WebSocketTickets } from "./tickets.ts";
