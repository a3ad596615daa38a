import { atLeast } from "../targets.mjs";

export default {
  name: "stdio",
  title: "stdio to a child process, add",
  measures: "server CPU per call",
  reference: "newline-loop",
  candidates: {
    "newline-loop": "newline by hand, one write per tick",
    callwire: "callwire serveStdio",
    "callwire-content-length": "callwire serveStdio, Content-Length",
    "content-length-loop": "Content-Length by hand, one write per tick",
    "vscode-jsonrpc": "vscode-jsonrpc (Content-Length)",
  },
  workloads: ["256 in flight"],
  plotted: "256 in flight",
  drivenBy: "load",
  sliceMs: 120,
  cycles: 21,
  warmUp: { ms: 500, calls: 10000, atMostMs: 2000 },
  targets: [
    atLeast(0.8, "callwire", "newline-loop", ["256 in flight"]),
    atLeast(0.65, "callwire-content-length", "newline-loop", ["256 in flight"]),
    atLeast(5, "callwire", "vscode-jsonrpc", ["256 in flight"]),
  ].flat(),
};
