import { flatMemory, perSecond } from "../targets.mjs";

export default {
  name: "streams",
  title: "Streams through a pair of connections in memory",
  measures: "CPU per item, both ends",
  reference: "by-hand",
  candidates: {
    "by-hand": "async generator over JSON text, by hand",
    callwire: "callwire stream() over memoryPair()",
  },
  workloads: ["items"],
  plotted: "items",
  drivenBy: "itself",
  sliceMs: 200,
  cycles: 15,
  warmUp: { ms: 500, calls: 20000, atMostMs: 1500 },
  targets: [perSecond(200_000, "callwire", "items"), flatMemory(8, "callwire")],
  /** Items of the memory run: by default, with --quick and with --full. */
  memoryItems: { default: 1_000_000, quick: 200_000, full: 10_000_000 },
};
