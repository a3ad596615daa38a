import type { MeterProvider } from "@opentelemetry/api";
import type { Handle, Middleware } from "../../protocol/handle.ts";
import type { Service } from "../../protocol/service.ts";
import type { EndedSession } from "../../protocol/session-reports.ts";
import type { Answered } from "../../protocol/watch.ts";
import { createMetrics, labelOf, type Metrics } from "../metrics.ts";
import { settled, sideOf } from "../observed-call.ts";
import { listedMethod, networkAttributes, otherMethod, serverAttributes } from "./attributes.ts";
import { Instruments } from "./instruments.ts";

export interface MeteringOptions {
  /** Provides the meter. @default the global one, which does nothing until an SDK is registered */
  readonly meterProvider?: MeterProvider;
  /** The metrics to export; pass those that Prometheus scrapes to get the same numbers. @default new ones */
  readonly metrics?: Metrics;
  /** Names that outgoing calls may have; all others are `_OTHER`, as in `TracingOptions`. @default all names */
  readonly methods?: readonly string[];
}

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
  const methods = options.methods && new Set(options.methods);
  const meters = new Instruments(options.meterProvider, metrics);

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
      const isOutgoing = side === "outgoing";
      const method = isOutgoing ? listedMethod(request.method, methods) : request.method;
      return settled(
        () => counted(request, context),
        (durationMs, reply, thrown) => {
          const code = thrown?.code ?? reply?.error?.code;
          const server = isOutgoing ? serverAttributes(context.outgoing?.link) : undefined;
          meters
            .calls(isOutgoing ? "client" : "server")
            .record(durationMs / 1000, { ...attributesOf(method, code), ...server });
          const { facts } = context;
          if (facts === undefined) return;
          const failure = code ?? facts.failureIn(reply?.result);
          const end = isOutgoing ? "client" : "server";
          meters.of(`${facts.protocol}.${end}.operation.duration`).record(durationMs / 1000, {
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
        meters
          .calls("server")
          .record(event.durationMs / 1000, attributesOf(method, event.error?.code));
      },
    };
  };
  const sessionEnded = (session: EndedSession): void => {
    const { protocol, side, durationMs, transport, labels, failure } = session;
    meters.of(`${protocol}.${side}.session.duration`).record(durationMs / 1000, {
      ...labels,
      ...(transport === undefined ? {} : networkAttributes(transport)),
      ...(failure === undefined ? {} : { "error.type": failure }),
    });
  };
  return Object.assign(middleware, { watch, sessionEnded, onlyWatches: true });
}
