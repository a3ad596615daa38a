import { Bounded, Count, type Family, Histogram, type Series } from "./metric-family.ts";

/** How long calls take, in seconds: from what answers in memory to what people give up on. */
export const durationBounds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

const sizeBounds: readonly number[] = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/** Most error codes that are told apart per method; a handler may make up any. */
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

/** All that came over one transport. */
class TransportSeries {
  readonly methods: Bounded<MethodSeries>;
  readonly requestSizes = new Histogram(sizeBounds);
  readonly replySizes = new Histogram(sizeBounds);

  constructor(mostMethods: number, bounds: readonly number[]) {
    this.methods = new Bounded(mostMethods, () => new MethodSeries(bounds));
  }
}

/** Calls, errors and durations of one side, by method and transport. */
export class CallSeries {
  readonly #transports = new Map<string, TransportSeries>();
  readonly #make: () => TransportSeries;

  constructor(mostMethods: number, bounds: readonly number[]) {
    this.#make = () => new TransportSeries(mostMethods, bounds);
  }

  /** The name comes from this package or from whoever brings a wire, never from a caller. */
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
        help: `${what}, each entry of a batch by itself.`,
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
        help: `How long they took: ${what.toLowerCase()}.`,
        series: all.map(({ labels, series }) => ({ labels, value: series.duration })),
      },
    ];
  }

  /** How long messages were, for the side that sees their texts. */
  sizeFamilies(prefix: string): Family[] {
    const all = [...this.#transports].map(([transport, series]) => ({
      labels: { transport },
      series,
    }));
    return [
      {
        kind: "histogram",
        name: `${prefix}_request_size_characters`,
        help: "Length of messages that came.",
        series: all.map(({ labels, series }) => ({ labels, value: series.requestSizes })),
      },
      {
        kind: "histogram",
        name: `${prefix}_reply_size_characters`,
        help: "Length of replies that were sent.",
        series: all.map(({ labels, series }) => ({ labels, value: series.replySizes })),
      },
    ];
  }
}
