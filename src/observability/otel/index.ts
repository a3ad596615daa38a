/** Traces and metrics for OpenTelemetry, using only its API. @module callwire/observability/otel */
export type { Conventions } from "./attributes.ts";
export { type MeteringOptions, metering } from "./metering.ts";
export { type TracingOptions, tracing } from "./tracing.ts";
