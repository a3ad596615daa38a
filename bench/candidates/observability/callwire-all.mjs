import { createMetrics, lineLog, logging } from "callwire/observability";
import { tracing } from "callwire/observability/otel";
import { serving } from "./serving.mjs";

const log = lineLog({ pretty: false, write() {} });

export default () => serving([tracing(), createMetrics().middleware, logging({ log })]);
