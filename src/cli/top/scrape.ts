/** The counters of one method, over all transports. */
export interface MethodStats {
  readonly calls: number;
  readonly errors: number;
  /** Calls within each histogram bound, in seconds. */
  readonly below: ReadonlyMap<number, number>;
}

export interface Scrape {
  /** Seconds. */
  readonly at: number;
  readonly methods: ReadonlyMap<string, MethodStats>;
  /** Metrics without a method label, summed: `connections`, `streams`, … */
  readonly totals: ReadonlyMap<string, number>;
}

const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const label = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function readScrape(text: string, at: number): Scrape {
  const methods = new Map<string, { calls: number; errors: number; below: Map<number, number> }>();
  const totals = new Map<string, number>();
  const of = (method: string) => {
    const known = methods.get(method) ?? { calls: 0, errors: 0, below: new Map<number, number>() };
    methods.set(method, known);
    return known;
  };
  for (const line of text.split("\n")) {
    const [, full = "", inner = "", number = ""] = sample.exec(line) ?? [];
    const value = Number(number);
    if (line.startsWith("#") || full === "" || Number.isNaN(value)) continue;
    const name = full.replace(/^callwire_/, "");
    const labels = new Map(
      Array.from(inner.matchAll(label), ([, key = "", text = ""]) => [key, unescaped(text)]),
    );
    const method = labels.get("method");
    // Buckets are cumulative, so their sum is meaningless.
    if (labels.has("le") && method === undefined) continue;
    if (method === undefined) totals.set(name, (totals.get(name) ?? 0) + value);
    else if (name === "calls_total") of(method).calls += value;
    else if (name === "errors_total") of(method).errors += value;
    else if (name === "call_duration_seconds_bucket") {
      const bound = Number(labels.get("le")?.replace("+Inf", "Infinity"));
      const { below } = of(method);
      below.set(bound, (below.get(bound) ?? 0) + value);
    }
  }
  return { at, methods, totals };
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
}

export interface MethodRow {
  readonly method: string;
  readonly calls: number;
  readonly errors: number;
  /** Per second between two scrapes; undefined for a single one. */
  readonly rate: number | undefined;
  readonly errorRate: number | undefined;
  /** Undefined without calls. */
  readonly p50: Quantile | undefined;
  readonly p99: Quantile | undefined;
}

/** A duration from a histogram; the first and last buckets have only one bound. */
export interface Quantile {
  /** Interpolated, as Prometheus does. */
  readonly seconds: number;
  /** The bounds of the bucket: the true value is in between. 0 and Infinity mean missing bounds. */
  readonly from: number;
  readonly to: number;
}

/** Rows for the time between two scrapes, or since the start for one; busiest first. */
export function rowsBetween(before: Scrape | undefined, now: Scrape): MethodRow[] {
  const seconds = before === undefined ? undefined : Math.max(now.at - before.at, 1e-3);
  const rows = Array.from(now.methods, ([method, stats]): MethodRow => {
    const { calls, errors, below } = stats;
    const earlier = before?.methods.get(method);
    // After a restart the counters begin at zero.
    const since = earlier !== undefined && earlier.calls <= calls ? earlier : undefined;
    const perSecond = (total: number, then = 0): number | undefined =>
      seconds === undefined ? undefined : (total - then) / seconds;
    return {
      method,
      calls,
      errors,
      rate: perSecond(calls, since?.calls),
      errorRate: perSecond(errors, since?.errors),
      p50: quantile(0.5, below, since?.below),
      p99: quantile(0.99, below, since?.below),
    };
  });
  return rows.sort((a, b) => (b.rate ?? 0) - (a.rate ?? 0) || b.calls - a.calls);
}

/** Like Prometheus' `histogram_quantile`, but without extrapolation in the outer buckets. */
function quantile(
  q: number,
  below: ReadonlyMap<number, number>,
  before: ReadonlyMap<number, number> | undefined,
): Quantile | undefined {
  const bounds = [...below.keys()].sort((a, b) => a - b);
  const countOf = (bound: number): number => (below.get(bound) ?? 0) - (before?.get(bound) ?? 0);
  const total = countOf(Number.POSITIVE_INFINITY);
  if (!(total > 0)) return undefined;
  const rank = q * total;
  const i = bounds.findIndex((bound) => countOf(bound) >= rank);
  const bound = bounds[i] as number;
  if (i === 0) return { seconds: bound, from: 0, to: bound };
  const lower = bounds[i - 1] as number;
  if (bound === Number.POSITIVE_INFINITY) return { seconds: lower, from: lower, to: bound };
  const under = countOf(lower);
  const within = countOf(bound) - under;
  const seconds = within === 0 ? bound : lower + ((bound - lower) * (rank - under)) / within;
  return { seconds, from: lower, to: bound };
}
