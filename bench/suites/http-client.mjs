import { atLeast, atMostLatency } from "../targets.mjs";

export default {
  name: "http-client",
  title: "HTTP client on Node, 64 calls in flight",
  measures: "client CPU per call",
  reference: "undici-pool",
  candidates: {
    "undici-pool": "undici Pool.request by hand",
    callwire: "callwire httpLink",
    "callwire-batching": "callwire httpLink, automatic batching",
    jayson: "jayson, keep-alive agent",
    "json-rpc-2.0": "json-rpc-2.0 over undici Pool",
    fetch: "global fetch by hand",
    trpc: "tRPC httpLink (its own wire)",
  },
  workloads: ["add", "add, 1 in flight"],
  plotted: "add",
  drivenBy: "itself",
  against: "upstream.mjs",
  sliceMs: 150,
  cycles: 18,
  warmUp: { ms: 1200, calls: 15_000, atMostMs: 1800 },
  targets: [
    atLeast(1.2, "callwire", "undici-pool", ["add"]),
    atLeast(2.5, "callwire", "jayson", ["add"]),
    atLeast(2, "callwire-batching", "callwire", ["add"]),
    atMostLatency(1.1, "callwire-batching", "callwire", ["add, 1 in flight"]),
  ].flat(),
};
