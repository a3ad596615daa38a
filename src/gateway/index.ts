/** A gateway: takes calls on one transport and forwards them over another. @module callwire/gateway */

export type { TargetState } from "../protocol/target-state.ts";
export type { Balance } from "./balance.ts";
export type { BreakerOptions } from "./circuit-breaker.ts";
export { isWireHeader } from "./forwarded-headers.ts";
export {
  createGateway,
  Gateway,
  type GatewayConfig,
  type GatewayOptions,
  type Readiness,
} from "./gateway.ts";
export { defineGateway, type GatewayFile, type UpstreamEntry } from "./gateway-file.ts";
export type { HealthCheckOptions } from "./health-check.ts";
export type { RouteConfig } from "./routes.ts";
export type { Connect, UpstreamConfig } from "./upstream.ts";
