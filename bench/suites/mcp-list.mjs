import { atLeast } from "../targets.mjs";

export default {
  name: "mcp-list",
  title: "MCP over Streamable HTTP, tools/list of 1,000 tools, 64 keep-alive connections",
  measures: "server CPU per request",
  reference: "sdk",
  candidates: {
    sdk: "official SDK 1.32, replies as JSON",
    callwire: "callwire mcpMounts",
  },
  workloads: ["tools/list"],
  plotted: "tools/list",
  drivenBy: "load",
  sliceMs: 400,
  cycles: 9,
  warmUp: { ms: 600, calls: 100, atMostMs: 4000 },
  targets: atLeast(3, "callwire", "sdk", ["tools/list"]),
};
