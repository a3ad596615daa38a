import { type Histogram, type MeterProvider, metrics as otelMetrics } from "@opentelemetry/api";
import type { EndedSession } from "../../protocol/ended-session.ts";
import type { Handle, Middleware } from "../../protocol/handle.ts";
import type { Service } from "../../protocol/service.ts";
import type { Answered } from "../../protocol/watch.ts";
import { durationBounds } from "../call-series.ts";
import type { Family } from "../metric-family.ts";
import { createMetrics, labelOf, type Metrics } from "../metrics.ts";
import { settled, sideOf } from "../observed-call.ts";
import { version } from "../version.ts";
import { networkAttributes, otherMethod, schemaUrl } from "./attributes.ts";

export interface MeteringOptions {
  /** Provides the meter. @default the global one, which does nothing until an SDK is registered */
  readonly meterProvider?: MeterProvider;
  /** The metrics to export; pass those that Prometheus scrapes to get the same numbers. @default new ones */
  readonly metrics?: Metrics;
}

/** The bounds of the conventions for MCP, in seconds: a tool or a session may take minutes. */
const protocolBounds: readonly number[] = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
];

/**
 * Measures calls for OpenTelemetry: the histograms `rpc.server.call.duration` and
 * `rpc.client.call.duration` of the conventions, those of MCP, and all counters and gauges of the metrics.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { metering } from "callwire/observability/otel";
 *
 * const watched = createServer(methods, { use: [metering()] });
 * ```
 */
export function metering(options: MeteringOptions = {}): Middleware {
  const { metrics = createMetrics() } = options;
  const meter = (options.meterProvider ?? otelMetrics).getMeter("callwire", version, { schemaUrl });
  const advice = { explicitBucketBoundaries: [...durationBounds] };
  const answered = meter.createHistogram("rpc.server.call.duration", { unit: "s", advice });
  const called = meter.createHistogram("rpc.client.call.duration", { unit: "s", advice });
  /** The histograms of protocols on top of JSON-RPC, by their names. */
  const others = new Map<string, Histogram>();
  const other = (name: string): Histogram => {
    const settings = { unit: "s", advice: { explicitBucketBoundaries: [...protocolBounds] } };
    const histogram = others.get(name) ?? meter.createHistogram(name, settings);
    others.set(name, histogram);
    return histogram;
  };
  observe(metrics, options.meterProvider);

  const attributesOf = (method: string, code: number | string | undefined) => ({
    "rpc.system.name": "jsonrpc",
    "rpc.method": method,
    ...(code === undefined ? {} : { "error.type": `${code}` }),
    ...(typeof code === "number" ? { "rpc.status_code": `${code}` } : {}),
  });

  const middleware = (next: Handle): Handle => {
    const counted = options.metrics === undefined ? metrics.middleware(next) : next;
    return (request, context) => {
      const side = sideOf(context);
      if (side === "watched") return next(request, context);
      const histogram = side === "outgoing" ? called : answered;
      return settled(
        () => counted(request, context),
        (durationMs, reply, thrown) => {
          const code = thrown?.code ?? reply?.error?.code;
          histogram.record(durationMs / 1000, attributesOf(request.method, code));
          const { facts } = context;
          if (facts === undefined) return;
          const failure = code ?? facts.failureIn(reply?.result);
          const end = side === "outgoing" ? "client" : "server";
          other(`${facts.protocol}.${end}.operation.duration`).record(durationMs / 1000, {
            ...facts.labels,
            ...(failure === undefined ? {} : { "error.type": `${failure}` }),
          });
        },
      );
    };
  };
  const watch = (service: Service) => {
    const own = options.metrics === undefined ? metrics.middleware.watch?.(service) : undefined;
    return {
      ...own,
      answered(event: Answered): void {
        own?.answered?.(event);
        const label = labelOf(event.message, service);
        const method = label.startsWith("(") ? otherMethod : label;
        answered.record(event.durationMs / 1000, attributesOf(method, event.error?.code));
      },
    };
  };
  const sessionEnded = (session: EndedSession): void => {
    const { protocol, side, durationMs, transport, labels, failure } = session;
    other(`${protocol}.${side}.session.duration`).record(durationMs / 1000, {
      ...labels,
      ...(transport === undefined ? {} : networkAttributes(transport)),
      ...(failure === undefined ? {} : { "error.type": failure }),
    });
  };
  return Object.assign(middleware, { watch, sessionEnded, onlyWatches: true });
}

/** Exports counters and gauges on each collection. */
function observe(metrics: Metrics, provider: MeterProvider | undefined): void {
  const meter = (provider ?? otelMetrics).getMeter("callwire", version, { schemaUrl });
  const simple = (): Exclude<Family, { kind: "histogram" }>[] =>
    metrics.families().flatMap((family) => (family.kind === "histogram" ? [] : [family]));
  const instruments = new Map(
    simple().map(({ name, help, kind }) => {
      const own = name.replace("_", ".");
      const settings = { description: help };
      return [
        name,
        kind === "counter"
          ? meter.createObservableCounter(own, settings)
          : meter.createObservableGauge(own, settings),
      ];
    }),
  );
  meter.addBatchObservableCallback(
    (result) => {
      for (const { name, series } of simple()) {
        const instrument = instruments.get(name);
        if (instrument === undefined) continue;
        for (const { labels, value } of series) result.observe(instrument, value, labels);
      }
    },
    [...instruments.values()],
  );
}
