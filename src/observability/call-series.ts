import { Bounded, Count, type Family, Histogram, type Series } from "./metric-family.ts";

/** The bounds of the OpenTelemetry conventions for call durations, in seconds. */
const standardBounds: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];

/** Default bounds of call durations: the standard ones, and more below, because most calls take less than 5 ms. */
export const durationBounds: readonly number[] = [
  0.0001,
  0.00025,
  0.0005,
  0.001,
  0.0025,
  ...standardBounds,
];

const sizeBounds: readonly number[] = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/** Most error codes per method; a handler may use any. */
const mostCodes = 50;

/** The calls of one method over one transport. */
class MethodSeries {
  readonly duration: Histogram;
  readonly errors = new Bounded(mostCodes, () => new Count());

  constructor(bounds: readonly number[]) {
    this.duration = new Histogram(bounds);
  }

  add(seconds: number, code: number | string | undefined): void {
    this.duration.observe(seconds);
    if (code !== undefined) this.errors.at(`${code}`).value++;
  }
}

/** All calls over one transport. */
class TransportSeries {
  readonly methods: Bounded<MethodSeries>;
  readonly requestSizes = new Histogram(sizeBounds);
  readonly replySizes = new Histogram(sizeBounds);

  constructor(mostMethods: number, bounds: readonly number[]) {
    this.methods = new Bounded(mostMethods, () => new MethodSeries(bounds));
  }
}

/** Calls, errors and durations of servers or of clients, by method and transport. */
export class CallSeries {
  readonly #transports = new Map<string, TransportSeries>();
  readonly #make: () => TransportSeries;

  constructor(mostMethods: number, bounds: readonly number[]) {
    this.#make = () => new TransportSeries(mostMethods, bounds);
  }

  /** The name comes from the transport, never from a caller, so it needs no limit. */
  over(transport: string): TransportSeries {
    const known = this.#transports.get(transport);
    if (known !== undefined) return known;
    const series = this.#make();
    this.#transports.set(transport, series);
    return series;
  }

  families(prefix: string, what: string): Family[] {
    const all = [...this.#transports].flatMap(([transport, { methods }]) =>
      methods.entries().map(([method, series]) => ({ labels: { method, transport }, series })),
    );
    return [
      {
        kind: "counter",
        name: `${prefix}_calls`,
        help: `${what}; each entry of a batch counts.`,
        series: all.map(({ labels, series }) => ({ labels, value: series.duration.count })),
      },
      {
        kind: "counter",
        name: `${prefix}_errors`,
        help: `${what} that ended with an error, by its code.`,
        series: all.flatMap(({ labels, series }) =>
          series.errors
            .entries()
            .map(([code, { value }]): Series<number> => ({ labels: { ...labels, code }, value })),
        ),
      },
      {
        kind: "histogram",
        name: `${prefix}_call_duration_seconds`,
        help: `Duration of ${what.toLowerCase()}.`,
        series: all.map(({ labels, series }) => ({ labels, value: series.duration })),
      },
    ];
  }

  /** Message sizes, for servers. */
  sizeFamilies(prefix: string): Family[] {
    const all = [...this.#transports].map(([transport, series]) => ({
      labels: { transport },
      series,
    }));
    return [
      {
        kind: "histogram",
        name: `${prefix}_request_size_characters`,
        help: "Length of received messages.",
        series: all.map(({ labels, series }) => ({ labels, value: series.requestSizes })),
      },
      {
        kind: "histogram",
        name: `${prefix}_reply_size_characters`,
        help: "Length of sent replies.",
        series: all.map(({ labels, series }) => ({ labels, value: series.replySizes })),
      },
    ];
  }
}
