/**
 * Runs one suite: starts its processes several times, runs cycles in each, and adds up the results.
 */
import { openCandidates } from "./candidates.mjs";
import { measure, ratios, spread, warmUp } from "./measure.mjs";
import { judge } from "./targets.mjs";

const quickCycles = 3;
const quickSliceMs = 60;

export async function runSuite(suite, options, onProgress) {
  const starts = options.starts;
  const cycles = options.cycles ?? (options.quick ? quickCycles : suite.cycles);
  const lanes = Object.keys(suite.candidates).flatMap((name) =>
    suite.workloads.map((workload) => ({ name, workload, costs: [], times: [], latencies: [] })),
  );
  let memory;
  for (let round = 0; round < starts; round++) {
    const share =
      Math.floor(((round + 1) * cycles) / starts) - Math.floor((round * cycles) / starts);
    const say = (text) => onProgress(`${suite.name}: start ${round + 1} of ${starts}, ${text}`);
    say("starting");
    const { entries, close } = await openCandidates(suite);
    try {
      const running = await prepareLanes(lanes, entries, suite, options, say);
      await measure(running, {
        cycles: share,
        sliceMs: options.quick ? quickSliceMs : suite.sliceMs,
        onCycle: (cycle) => say(`cycle ${cycle + 1} of ${share}`),
      });
      if (suite.memoryItems && round === starts - 1) {
        say("memory over many calls");
        memory = await measureMemory(entries, suite, options);
      }
    } finally {
      close();
    }
  }
  onProgress(`${suite.name}: idle sessions`);
  const sessions = suite.idleSessions && (await measureSessions(suite, options));
  return summary(suite, lanes, { memory, sessions });
}

/** Checks the replies of every lane and warms it up; lanes that cannot run say why. */
async function prepareLanes(lanes, entries, suite, options, say) {
  for (const lane of lanes) {
    const { missing, failure, prepare, slice } = entries.find(({ name }) => name === lane.name);
    lane.missing = missing;
    lane.failure = failure;
    if (missing || failure) continue;
    lane.slice = (ms) => slice(lane.workload, ms);
    try {
      const { bytes } = (await prepare(lane.workload)) ?? {};
      lane.bytes = bytes;
    } catch (error) {
      lane.failure = error.message;
    }
  }
  const running = lanes.filter((lane) => !lane.missing && !lane.failure);
  for (const [i, lane] of running.entries()) {
    say(`warming up ${i + 1} of ${running.length}`);
    await warmUp(lane, options.quick ? shortened(suite.warmUp) : suite.warmUp);
  }
  return running;
}

function shortened({ ms, calls, atMostMs }) {
  return { ms: ms / 3, calls: calls / 3, atMostMs: atMostMs / 3 };
}

function measureMemory(entries, { memoryItems, plotted: workload }, options) {
  const items = sized(memoryItems, options);
  return ofEach(entries, (name, ask) => ask("memory", { name, items, workload }, 1_800_000));
}

/** In separate processes: a store that a load has filled drops an old task for each new one. */
async function measureSessions(suite, options) {
  const count = sized(suite.idleSessions, options);
  const { entries, close } = await openCandidates(suite);
  try {
    return await ofEach(entries, (name, ask) => ask("sessions", { name, count }, 120_000));
  } finally {
    close();
  }
}

function sized(sizes, { full, quick }) {
  return sizes[full ? "full" : quick ? "quick" : "default"];
}

async function ofEach(entries, measureOne) {
  const measured = {};
  for (const { name, ask, missing, failure } of entries) {
    if (!missing && !failure) measured[name] = await measureOne(name, ask);
  }
  return measured;
}

function summary(suite, lanes, { memory, sessions }) {
  const laneOf = (name, workload) =>
    lanes.find((lane) => lane.name === name && lane.workload === workload);
  const costsOf = (name, workload) => laneOf(name, workload).costs;
  const timesOf = (name, workload) => laneOf(name, workload).times.map(({ p99Ms }) => p99Ms);
  const latenciesOf = (name, workload) => laneOf(name, workload).latencies;
  const { name, title, measures, reference, plotted } = suite;
  return {
    name,
    title,
    measures,
    reference,
    plotted,
    cycles: Math.max(...lanes.map((lane) => lane.costs.length)),
    rows: lanes.map((lane) => ({
      workload: lane.workload,
      candidate: lane.name,
      label: suite.candidates[lane.name],
      ratio: spread(ratios(lane.costs, costsOf(reference, lane.workload))),
      cpuMicros: spread(lane.costs)?.median,
      p50Ms: spread(lane.times.map(({ p50Ms }) => p50Ms))?.median,
      p99Ms: spread(lane.times.map(({ p99Ms }) => p99Ms))?.median,
      p999Ms: spread(lane.times.map(({ p999Ms }) => p999Ms))?.median,
      bytes: lane.bytes,
      note: lane.missing ?? (lane.failure && `failed: ${lane.failure}`),
    })),
    targets: suite.targets.map((target) =>
      judge(target, { costsOf, timesOf, latenciesOf, memory, sessions }),
    ),
    memory,
    sessions,
  };
}
