/** Logs, metrics and health of servers and clients. @module callwire/observability */

export type { TargetState } from "../protocol/target-state.ts";
export { type TraceContext, traceContextOf, traceIdOf } from "../protocol/trace-context.ts";
export type { Answered, Watch, Watcher } from "../protocol/watch.ts";
export { type Health, type HealthCheck, type HealthOptions, healthChecks } from "./health.ts";
export { type LineLogOptions, lineLog } from "./line-log.ts";
export { type CallEntry, type LoggingOptions, logging } from "./log.ts";
export type { Distribution, Family, Labels, Series } from "./metric-family.ts";
export {
  createMetrics,
  type Metrics,
  type MetricsOptions,
  type ReconnectHooks,
  type TopicSize,
} from "./metrics.ts";
export { type Exposition, exposition, metricsPage } from "./prometheus.ts";
export { type Redact, type RedactOptions, redactor, secretKeys } from "./redact.ts";
