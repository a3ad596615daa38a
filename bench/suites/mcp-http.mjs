import { atLeast, idleSession } from "../targets.mjs";

export default {
  name: "mcp-http",
  title: "MCP over Streamable HTTP, tools/call, 64 keep-alive connections",
  measures: "server CPU per request",
  reference: "sdk",
  candidates: {
    sdk: "official SDK 1.32, replies as JSON",
    callwire: "callwire mcpMounts",
  },
  workloads: ["tools/call"],
  plotted: "tools/call",
  drivenBy: "load",
  sliceMs: 150,
  cycles: 15,
  warmUp: { ms: 400, calls: 4000, atMostMs: 3000 },
  idleSessions: { default: 5_000, quick: 1_000, full: 9_000 },
  targets: [...atLeast(5, "callwire", "sdk", ["tools/call"]), idleSession(20, "callwire")],
};
