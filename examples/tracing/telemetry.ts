// The usual setup of the OpenTelemetry SDK, exporting OTLP. Jaeger listens at
// http://localhost:4318, LangFuse at https://cloud.langfuse.com/api/public/otel with a header.
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";

/** Registers the SDK for this process, so that `tracing()` of callwire finds it. */
export function register(service: string): NodeTracerProvider {
  const { COLLECTOR_URL, OTEL_EXPORTER_OTLP_ENDPOINT } = process.env;
  const exporters = [
    ...(COLLECTOR_URL === undefined ? [] : [new OTLPTraceExporter({ url: COLLECTOR_URL })]),
    // The exporter reads its address and headers from the environment.
    ...(OTEL_EXPORTER_OTLP_ENDPOINT === undefined ? [] : [new OTLPTraceExporter()]),
  ];
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ "service.name": service }),
    spanProcessors: exporters.map((exporter) => new SimpleSpanProcessor(exporter)),
  });
  provider.register();
  return provider;
}
