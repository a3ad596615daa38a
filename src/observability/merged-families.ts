import type { Distribution, Family, Series } from "./metric-family.ts";

/** Gauges that describe a state, whose sum over processes would mean nothing. */
const states = /_(up|lag_seconds|info|start_time_seconds)$/;

/** The metrics of several processes as those of one: counts are added, and for states the largest value is used. */
export function mergedFamilies(processes: readonly (readonly Family[])[]): Family[] {
  const families = new Map<string, Family>();
  for (const family of processes.flat()) {
    const before = families.get(family.name);
    families.set(family.name, before === undefined ? family : joined(before, family));
  }
  return [...families.values()];
}

/** What still counts after a process has ended: without it, counters would seem to restart. */
export function lastingFamilies(families: readonly Family[]): Family[] {
  return families.filter(({ kind }) => kind !== "gauge");
}

/** Plain arrays, which survive the way to another process. */
export function plainFamilies(families: readonly Family[]): Family[] {
  return families.map((family) =>
    family.kind === "histogram"
      ? {
          ...family,
          series: family.series.map(({ labels, value }) => ({
            labels,
            value: { ...value, counts: Array.from(value.counts) },
          })),
        }
      : family,
  );
}

function joined(one: Family, other: Family): Family {
  if (one.kind === "histogram") {
    return other.kind === "histogram"
      ? { ...one, series: joinedSeries(one.series, other.series, together) }
      : one;
  }
  if (other.kind === "histogram") return one;
  const isState = one.kind === "gauge" && states.test(one.name);
  const join = isState ? Math.max : (a: number, b: number) => a + b;
  return { ...one, series: joinedSeries(one.series, other.series, join) };
}

function joinedSeries<Value>(
  one: readonly Series<Value>[],
  other: readonly Series<Value>[],
  join: (a: Value, b: Value) => Value,
): Series<Value>[] {
  const all = new Map(one.map((series) => [JSON.stringify(series.labels), series]));
  for (const series of other) {
    const key = JSON.stringify(series.labels);
    const before = all.get(key);
    const value = before === undefined ? series.value : join(before.value, series.value);
    all.set(key, { labels: series.labels, value });
  }
  return [...all.values()];
}

function together(one: Distribution, other: Distribution): Distribution {
  return {
    bounds: one.bounds,
    counts: Array.from(one.counts, (count, i) => count + (other.counts[i] ?? 0)),
    count: one.count + other.count,
    sum: one.sum + other.sum,
  };
}
