import { tracing } from "callwire/observability/otel";
import { serving } from "./serving.mjs";

export default () => serving([tracing()]);
