import { Bounded, Count, type Family, Histogram, type Series } from "./family.ts";

/** How long calls take, in seconds: from what answers in memory to what people give up on. */
export const durationBounds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** Most error codes that are told apart per method; a handler may make up any. */
const mostCodes = 50;

/** The calls of one method over one transport. */
class MethodSeries {
  readonly duration: Histogram;
  readonly errors = new Bounded(mostCodes, () => new Count());

  constructor(bounds: readonly number[]) {
    this.duration = new Histogram(bounds);
  }
}

/** Calls, errors and durations of one side, by method and transport. */
export class CallSeries {
  readonly #byTransport = new Map<string, Bounded<MethodSeries>>();
  readonly #most: number;
  readonly #bounds: readonly number[];

  constructor(mostMethods: number, bounds: readonly number[]) {
    this.#most = mostMethods;
    this.#bounds = bounds;
  }

  /** `transport` comes from this package or from whoever brings a wire, never from a caller. */
  add(transport: string, method: string, seconds: number, code: string | undefined): void {
    let methods = this.#byTransport.get(transport);
    if (methods === undefined) {
      methods = new Bounded(this.#most, () => new MethodSeries(this.#bounds));
      this.#byTransport.set(transport, methods);
    }
    const series = methods.at(method);
    series.duration.observe(seconds);
    if (code !== undefined) series.errors.at(code).value++;
  }

  families(prefix: string, what: string): Family[] {
    const all = [...this.#byTransport].flatMap(([transport, methods]) =>
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
}
