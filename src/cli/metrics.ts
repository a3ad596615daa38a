import type { Middleware } from "callwire";
import type { NodeHandler } from "callwire/http/node";
import { createMetrics, type Metrics, metricsPage } from "callwire/observability";
import type { Flags, Options } from "./command.ts";

/** For verbs that can count what they serve. */
export const metricsOption = {
  metrics: { type: "boolean", description: "count calls, and show them at /metrics" },
} as const satisfies Options;

/** What counts calls, and the page that shows it; nothing where nobody asked for it. */
export interface Counting {
  readonly metrics: Metrics | undefined;
  readonly use: readonly Middleware[];
  readonly pages: Readonly<Record<string, NodeHandler>>;
}

export function countingOf(flags: Flags<typeof metricsOption>): Counting {
  if (flags.metrics !== true) return { metrics: undefined, use: [], pages: {} };
  const metrics = createMetrics();
  return { metrics, use: [metrics.middleware], pages: { "/metrics": metricsPage(metrics) } };
}
