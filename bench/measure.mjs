/** Interleaved slices: what a call costs in CPU time, and the ratio of two costs inside each cycle. */

/**
 * Runs `cycles` cycles over the lanes. A cycle measures every lane for one slice, workload by
 * workload and in shuffled order, so that results that are compared were measured within the same
 * second or two.
 */
export async function measure(lanes, { cycles, sliceMs, onCycle }) {
  const byWorkload = groupByWorkload(lanes);
  for (let cycle = 0; cycle < cycles; cycle++) {
    onCycle?.(cycle);
    for (const [, group] of shuffled([...byWorkload])) {
      for (const lane of shuffled(group)) lane.costs.push(await cost(lane, sliceMs));
    }
  }
}

/** Runs a lane until it is compiled: for some time and some number of calls, with a limit. */
export async function warmUp(lane, { ms, calls, atMostMs }) {
  const start = performance.now();
  let done = 0;
  for (;;) {
    if (lane.failure) return;
    const slice = await attempt(lane, Math.min(ms, 200));
    done += slice?.calls ?? 0;
    const elapsed = performance.now() - start;
    if (elapsed >= atMostMs || (elapsed >= ms && done >= calls)) return;
  }
}

async function cost(lane, sliceMs) {
  if (lane.failure) return Number.NaN;
  const slice = await attempt(lane, sliceMs);
  if (slice !== undefined) lane.latencies.push(sliceMs / slice.calls);
  if (slice?.p99Ms !== undefined) {
    const { p50Ms, p99Ms, p999Ms } = slice;
    lane.times.push({ p50Ms, p99Ms, p999Ms });
  }
  return slice ? slice.cpuMicros / slice.calls : Number.NaN;
}

/** A lane that fails once is no longer measured; the others continue. */
async function attempt(lane, ms) {
  try {
    return await lane.slice(ms);
  } catch (error) {
    lane.failure = error.message;
    return undefined;
  }
}

/** How many times cheaper `costs` are than `referenceCosts`, cycle by cycle. */
export function ratios(costs, referenceCosts) {
  return costs
    .map((cost, cycle) => referenceCosts[cycle] / cost)
    .filter((ratio) => !Number.isNaN(ratio));
}

/** Median and quartiles; undefined for an empty array. */
export function spread(values) {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  if (sorted.length === 0) return undefined;
  return { median: quantile(sorted, 0.5), q1: quantile(sorted, 0.25), q3: quantile(sorted, 0.75) };
}

function quantile(sorted, q) {
  const position = (sorted.length - 1) * q;
  const below = Math.floor(position);
  const above = Math.ceil(position);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - below);
}

function shuffled(items) {
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [copy[i], copy[j]] = [copy[j], copy[i]];
  }
  return copy;
}

function groupByWorkload(lanes) {
  const groups = new Map();
  for (const lane of lanes) {
    if (!groups.has(lane.workload)) groups.set(lane.workload, []);
    groups.get(lane.workload).push(lane);
  }
  return groups;
}
