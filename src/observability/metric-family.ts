/** A snapshot of one metric with all its series. Names of counters have no `_total`. */
export type Family =
  | {
      readonly kind: "counter" | "gauge";
      readonly name: string;
      readonly help: string;
      readonly series: readonly Series<number>[];
    }
  | {
      readonly kind: "histogram";
      readonly name: string;
      readonly help: string;
      readonly series: readonly Series<Distribution>[];
    };

/** The value of a metric under one set of labels. */
export interface Series<Value> {
  readonly labels: Labels;
  readonly value: Value;
}

/** Labels of a series, by name. */
export type Labels = Readonly<Record<string, string>>;

/** The values of a histogram. */
export interface Distribution {
  /** Upper bounds, ascending; a last bucket without a bound follows. */
  readonly bounds: readonly number[];
  /** Values per bucket, not cumulative. */
  readonly counts: ArrayLike<number>;
  readonly count: number;
  readonly sum: number;
}

/** Counts values by size. */
export class Histogram implements Distribution {
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  count = 0;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let i = 0;
    while (i < bounds.length && value > (bounds[i] as number)) i++;
    counts[i] = (counts[i] as number) + 1;
    this.count++;
    this.sum += value;
  }
}

/** Values by name. Above a number of names, the others share one entry. */
export class Bounded<Value> {
  readonly #values = new Map<string, Value>();
  readonly #most: number;
  readonly #make: () => Value;

  constructor(most: number, make: () => Value) {
    this.#most = most;
    this.#make = make;
  }

  /** The value of a name that has its own entry. */
  known(name: string): Value | undefined {
    return this.#values.get(name);
  }

  at(name: string): Value {
    const known = this.#values.get(name);
    if (known !== undefined) return known;
    const own = this.#values.size < this.#most ? name : otherLabel;
    const value = this.#values.get(own) ?? this.#make();
    this.#values.set(own, value);
    return value;
  }

  entries(): [name: string, value: Value][] {
    return [...this.#values];
  }
}

/** Label for all names beyond the limit. */
const otherLabel = "(other)";

/** A mutable counter, so that a map need not be written for each count. */
export class Count {
  value = 0;
}
