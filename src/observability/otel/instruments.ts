import {
  type BatchObservableCallback,
  type Histogram,
  type Meter,
  type MeterProvider,
  type Observable,
  metrics as otelMetrics,
} from "@opentelemetry/api";
import { durationBounds } from "../call-series.ts";
import type { Family } from "../metric-family.ts";
import type { Metrics } from "../metrics.ts";
import { version } from "../version.ts";
import { schemaUrl } from "./attributes.ts";

/** The bounds of the conventions for MCP, in seconds: a tool or a session may take minutes. */
const protocolBounds: readonly number[] = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
];

/**
 * The instruments of the current meter provider. Unlike tracers, meters from before an SDK is registered never record
 * anything, so they are replaced then.
 */
export class Instruments {
  readonly #given: MeterProvider | undefined;
  readonly #metrics: Metrics;
  readonly #histograms = new Map<string, Histogram>();
  #provider: MeterProvider | undefined;
  #meter: Meter | undefined;

  constructor(given: MeterProvider | undefined, metrics: Metrics) {
    this.#given = given;
    this.#metrics = metrics;
    this.#current();
  }

  /** The durations of JSON-RPC calls. */
  calls(side: "client" | "server"): Histogram {
    return this.#histogram(`rpc.${side}.call.duration`, durationBounds);
  }

  /** A histogram of a protocol on top of JSON-RPC. */
  of(name: string): Histogram {
    return this.#histogram(name, protocolBounds);
  }

  #histogram(name: string, bounds: readonly number[]): Histogram {
    const meter = this.#current();
    const known = this.#histograms.get(name);
    if (known !== undefined) return known;
    const advice = { explicitBucketBoundaries: [...bounds] };
    const histogram = meter.createHistogram(name, { unit: "s", advice });
    this.#histograms.set(name, histogram);
    return histogram;
  }

  #current(): Meter {
    const provider = this.#given ?? otelMetrics.getMeterProvider();
    if (this.#meter !== undefined && provider === this.#provider) return this.#meter;
    this.#provider = provider;
    this.#histograms.clear();
    this.#meter = provider.getMeter("callwire", version, { schemaUrl });
    observe(this.#meter, this.#metrics);
    return this.#meter;
  }
}

/** Exports counters and gauges on each collection. */
function observe(meter: Meter, metrics: Metrics): void {
  const simple = (): Exclude<Family, { kind: "histogram" }>[] =>
    metrics.families().flatMap((family) => (family.kind === "histogram" ? [] : [family]));
  const instruments = new Map<string, Observable>(
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
  const collect: BatchObservableCallback = (result) => {
    for (const { name, series } of simple()) {
      const instrument = instruments.get(name);
      if (instrument === undefined) continue;
      for (const { labels, value } of series) result.observe(instrument, value, labels);
    }
  };
  meter.addBatchObservableCallback(collect, [...instruments.values()]);
}
