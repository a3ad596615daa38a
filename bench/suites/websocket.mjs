import { aheadOf, atLeast } from "../targets.mjs";

const peers = ["rpc-websockets", "json-rpc-2.0", "jayson", "trpc", "capnweb"];
const workloads = ["1 in flight", "64 in flight", "1024 in flight"];

export default {
  name: "websocket",
  title: "WebSocket server on Node, add over one connection",
  measures: "server CPU per call",
  reference: "ws",
  candidates: {
    ws: "ws, each message answered as it comes",
    callwire: "callwire",
    "rpc-websockets": "rpc-websockets",
    "json-rpc-2.0": "json-rpc-2.0 over ws",
    jayson: "jayson",
    trpc: "tRPC (its own wire)",
    capnweb: "capnweb (its own wire)",
  },
  workloads,
  plotted: "64 in flight",
  drivenBy: "load",
  sliceMs: 120,
  cycles: 15,
  warmUp: { ms: 300, calls: 4000, atMostMs: 1200 },
  targets: [
    atLeast(0.9, "callwire", "ws", ["1 in flight"]),
    atLeast(1.3, "callwire", "ws", ["64 in flight", "1024 in flight"]),
    aheadOf("callwire", peers, workloads),
  ].flat(),
};
