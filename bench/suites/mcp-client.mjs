export default {
  name: "mcp-client",
  title: "MCP client over Streamable HTTP, tools/call, 64 in flight",
  measures: "client CPU per call",
  reference: "sdk",
  candidates: {
    sdk: "official SDK 1.32, 2025-11-25",
    callwire: "callwire mcpClient, 2025-11-25",
    "callwire-modern": "callwire mcpClient, 2026-07-28",
  },
  workloads: ["tools/call"],
  plotted: "tools/call",
  drivenBy: "itself",
  against: "mcp-upstream.mjs",
  sliceMs: 150,
  cycles: 15,
  warmUp: { ms: 1200, calls: 8000, atMostMs: 3000 },
  targets: [],
};
