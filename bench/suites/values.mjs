import { aheadOf, atLeast } from "../targets.mjs";

export default {
  name: "values",
  title: "Rich values, both ends in one process",
  measures: "CPU per call",
  reference: "callwire-json",
  candidates: {
    "callwire-json": "callwire without rich values; dates arrive as strings",
    callwire: 'callwire, values: "rich"',
    "superjson-jayson": "superjson over jayson",
    orpc: "oRPC's serializer alone, without a call",
  },
  workloads: ["add", "100 dates"],
  plotted: "100 dates",
  drivenBy: "itself",
  sliceMs: 100,
  cycles: 12,
  warmUp: { ms: 300, calls: 2_000, atMostMs: 2_000 },
  targets: [
    atLeast(0.95, "callwire", "callwire-json", ["add"]),
    aheadOf("callwire", ["superjson-jayson", "orpc"], ["100 dates"]),
  ].flat(),
};
