import { atLeast } from "../targets.mjs";

export default {
  name: "mcp-stdio",
  title: "MCP over stdio, tools/call",
  measures: "server CPU per call",
  reference: "sdk",
  candidates: {
    sdk: "official SDK 1.32",
    callwire: "callwire serveMcpStdio",
  },
  workloads: ["256 in flight"],
  plotted: "256 in flight",
  drivenBy: "load",
  sliceMs: 120,
  cycles: 15,
  warmUp: { ms: 500, calls: 10000, atMostMs: 3000 },
  targets: atLeast(3, "callwire", "sdk", ["256 in flight"]),
};
