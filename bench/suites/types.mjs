import { atLeast } from "../targets.mjs";

export default {
  name: "types",
  title: "Type checking",
  measures: "time of tsc per call, for 500 methods with schemas and 500 calls",
  reference: "callwire",
  candidates: {
    callwire: "callwire, api.group.method()",
    "callwire-by-name": 'callwire, client.call("group/method")',
    trpc: "tRPC",
    orpc: "oRPC",
  },
  workloads: ["500 methods, 500 calls"],
  plotted: "500 methods, 500 calls",
  drivenBy: "itself",
  sliceMs: 1,
  cycles: 6,
  warmUp: { ms: 0, calls: 1, atMostMs: 1 },
  targets: [atLeast(0.83, "callwire-by-name", "callwire", ["500 methods, 500 calls"])].flat(),
};
