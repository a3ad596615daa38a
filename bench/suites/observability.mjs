import { atLeast } from "../targets.mjs";

export default {
  name: "observability",
  title: "What it costs to watch an HTTP server",
  measures: "server CPU per request",
  reference: "callwire",
  candidates: {
    callwire: "callwire, unwatched",
    "callwire-metrics": "with metrics",
    "callwire-logs": "with logs, to a sink that does nothing",
    "callwire-lines": "with logs as lines of JSON, to nowhere",
    "callwire-tracing": "with tracing, no SDK registered",
    "callwire-all": "with metrics, tracing and logs as lines of JSON",
  },
  workloads: ["add"],
  plotted: "add",
  drivenBy: "load",
  sliceMs: 200,
  cycles: 45,
  warmUp: { ms: 800, calls: 8000, atMostMs: 4000 },
  // Under 3 %, 10 % and 2 % of what an HTTP call costs, and 10 % together.
  targets: [
    atLeast(0.97, "callwire-metrics", "callwire", ["add"]),
    atLeast(0.91, "callwire-logs", "callwire", ["add"]),
    atLeast(0.98, "callwire-tracing", "callwire", ["add"]),
    atLeast(0.9, "callwire-all", "callwire", ["add"]),
  ].flat(),
};
