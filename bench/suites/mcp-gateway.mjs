import { atMostMore } from "../targets.mjs";

export default {
  name: "mcp-gateway",
  title: "An MCP gateway from HTTP to stdio, tools/call, 64 keep-alive connections",
  measures: "CPU of the gateway per call",
  reference: "direct",
  candidates: {
    direct: "callwire mcpMounts, answering itself",
    callwire: "callwire mcpGateway, sending on to a process over stdio",
  },
  workloads: ["tools/call"],
  plotted: "tools/call",
  drivenBy: "load",
  sliceMs: 150,
  cycles: 15,
  warmUp: { ms: 400, calls: 4000, atMostMs: 3000 },
  targets: atMostMore(40, "callwire", "direct", ["tools/call"]),
};
