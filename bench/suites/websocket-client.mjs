import { atLeast } from "../targets.mjs";

const workloads = ["1 in flight", "64 in flight"];

export default {
  name: "websocket-client",
  title: "WebSocket client on Node, add over one connection",
  measures: "client CPU per call",
  reference: "ws",
  candidates: {
    ws: "ws, each request sent as it comes",
    callwire: "callwire webSocketLink",
    "rpc-websockets": "rpc-websockets",
  },
  workloads,
  plotted: "64 in flight",
  drivenBy: "itself",
  against: "ws-upstream.mjs",
  sliceMs: 150,
  cycles: 18,
  warmUp: { ms: 1000, calls: 10_000, atMostMs: 1800 },
  targets: [atLeast(1.2, "callwire", "ws", ["64 in flight"])].flat(),
};
