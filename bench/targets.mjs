/** What callwire promises, as data, and how a promise is judged. */
import { ratios, spread } from "./measure.mjs";

export function atLeast(times, candidate, of, workloads) {
  return workloads.map((workload) => ({ kind: "ratio", times, candidate, of, workload }));
}

export function aheadOf(candidate, peers, workloads) {
  return workloads.flatMap((workload) =>
    peers.map((of) => ({ kind: "ahead", candidate, of, workload })),
  );
}

/** Its p99 is at most that of another candidate at the same load. */
export function noLater(candidate, of, workloads) {
  return workloads.map((workload) => ({ kind: "delay", candidate, of, workload }));
}

/** With one call in flight, a call takes at most so many times as long as with another candidate. */
export function atMostLatency(times, candidate, of, workloads) {
  return workloads.map((workload) => ({ kind: "latency", times, candidate, of, workload }));
}

export function perSecond(rate, candidate, workload) {
  return { kind: "rate", rate, candidate, workload };
}

export function atMostMicros(micros, candidate, workloads) {
  return workloads.map((workload) => ({ kind: "cost", micros, candidate, workload }));
}

/** How much more a call may cost than with another candidate. */
export function atMostMore(micros, candidate, of, workloads) {
  return workloads.map((workload) => ({ kind: "extra", micros, candidate, of, workload }));
}

/** `mebibytes` is how much the heap may grow over the items or calls of the memory run. */
export function flatMemory(mebibytes, candidate) {
  return { kind: "memory", mebibytes, candidate };
}

/** How much an unused session may hold, in thousands of bytes. */
export function idleSession(kilobytes, candidate) {
  return { kind: "session", kilobytes, candidate };
}

/** The target in words, what was measured for it, and whether it holds (undefined: not measured). */
export function judge(target, measurements) {
  const measured = spread(measuredValues(target, measurements));
  return {
    ...target,
    text: describe(target),
    measured,
    passed: measured && holds(target, measured.median),
  };
}

function holds({ kind, times, rate, micros, mebibytes, kilobytes }, median) {
  switch (kind) {
    case "ratio":
      return median >= times;
    case "ahead":
      return median > 1;
    case "delay":
      return median <= 1;
    case "latency":
      return median <= times;
    case "rate":
      return median >= rate;
    case "cost":
    case "extra":
      return median <= micros;
    case "memory":
      return median <= mebibytes;
    case "session":
      return median <= kilobytes;
  }
}

function measuredValues({ kind, candidate, of, workload }, measurements) {
  const { costsOf, timesOf, latenciesOf, memory, sessions } = measurements;
  if (kind === "session") {
    const held = sessions?.[candidate];
    return held ? [held.bytes / 1000] : [];
  }
  if (kind === "memory") {
    const run = memory?.[candidate];
    return run ? [(run.heapAfter - run.heapBefore) / 2 ** 20] : [];
  }
  if (kind === "delay") return ratios(timesOf(of, workload), timesOf(candidate, workload));
  if (kind === "latency")
    return ratios(latenciesOf(of, workload), latenciesOf(candidate, workload));
  const costs = costsOf(candidate, workload);
  if (kind === "cost") return costs;
  if (kind === "extra") {
    const others = costsOf(of, workload);
    return costs.flatMap((cost, i) => (others[i] === undefined ? [] : [cost - others[i]]));
  }
  return kind === "rate"
    ? costs.map((micros) => 1e6 / micros)
    : ratios(costs, costsOf(of, workload));
}

function describe({ kind, candidate, of, workload, times, rate, micros, mebibytes, kilobytes }) {
  switch (kind) {
    case "ratio":
      return `${candidate}, ${workload}: at least ${times} times ${of}`;
    case "ahead":
      return `${candidate}, ${workload}: ahead of ${of}`;
    case "delay":
      return `${candidate}, ${workload}: p99 at most that of ${of}`;
    case "latency":
      return `${candidate}, ${workload}: at most ${times} times the latency of ${of}`;
    case "rate":
      return `${candidate}, ${workload}: at least ${rate.toLocaleString("en")} per CPU second`;
    case "cost":
      return `${candidate}, ${workload}: at most ${micros} µs of CPU`;
    case "extra":
      return `${candidate}, ${workload}: at most ${micros} µs of CPU more than ${of}`;
    case "memory":
      return `${candidate}, memory: the heap grows by at most ${mebibytes} MiB`;
    case "session":
      return `${candidate}, an idle session: at most ${kilobytes} kB of heap`;
  }
}
