/** Traces and metrics for OpenTelemetry, on its API alone. @module */
export type { Conventions } from "./attributes.ts";
export { type MeteringOptions, metering } from "./metering.ts";
export { type TracingOptions, tracing } from "./tracing.ts";
