import { atLeast } from "../targets.mjs";

export default {
  name: "in-process",
  title: "In process, text in and text out",
  measures: "CPU per message (a batch is one message)",
  reference: "ceiling",
  candidates: {
    ceiling: "ceiling: parse, switch, concatenate",
    callwire: "callwire",
    "callwire-async": "callwire, async handlers",
    "ceiling-async": "async handlers by hand, nothing validated",
    jayson: "jayson",
    "json-rpc-2.0": "json-rpc-2.0",
    metamask: "@metamask/json-rpc-engine v2",
    "open-rpc": "@open-rpc/server-js router",
  },
  workloads: [
    "add",
    "add, id second",
    "echo 1 KiB",
    "batch 100",
    "batch 100, id second",
    "batch 1000",
  ],
  plotted: "add",
  drivenBy: "itself",
  sliceMs: 80,
  cycles: 12,
  warmUp: { ms: 200, calls: 200, atMostMs: 1500 },
  targets: [
    atLeast(0.95, "callwire", "ceiling", ["add", "batch 100", "batch 1000"]),
    atLeast(0.9, "callwire-async", "ceiling", ["add", "batch 100"]),
    atLeast(0.9, "callwire-async", "ceiling-async", ["add", "batch 100"]),
    atLeast(1.7, "callwire", "jayson", ["add"]),
    atLeast(2.5, "callwire", "json-rpc-2.0", ["add"]),
  ].flat(),
};
