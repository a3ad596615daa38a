import { createMetrics } from "callwire/observability";
import { serving } from "./serving.mjs";

export default () => serving([createMetrics().middleware]);
