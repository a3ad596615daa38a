import { atMostMicros, flatMemory } from "../targets.mjs";

export default {
  name: "signing",
  title: "Signatures and nonces",
  measures: "CPU per verification, or per nonce that is taken",
  reference: "by-hand",
  candidates: {
    "by-hand": "node:crypto over the same bytes, a Set of nonces",
    callwire: "callwire",
  },
  workloads: ["HTTP, HMAC", "HTTP, Ed25519", "message, HMAC", "params, HMAC", "nonce"],
  plotted: "HTTP, HMAC",
  drivenBy: "itself",
  sliceMs: 120,
  cycles: 12,
  warmUp: { ms: 300, calls: 2_000, atMostMs: 2_000 },
  targets: [
    atMostMicros(15, "callwire", ["HTTP, HMAC", "message, HMAC"]),
    atMostMicros(2, "callwire", ["nonce"]),
    flatMemory(200, "callwire"),
  ].flat(),
  /** Nonces held at the same time in the memory run. */
  memoryItems: { default: 1_000_000, quick: 1_000_000, full: 1_000_000 },
};
