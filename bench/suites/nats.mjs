import { atLeast, flatMemory } from "../targets.mjs";

const workloads = ["add, 1 in flight", "add, 64 in flight", "echo 1 KiB, 64 in flight"];

export default {
  name: "nats",
  title: "NATS, caller and worker on connections of their own",
  measures: "CPU per round trip, both ends, without the engine's",
  reference: "bare",
  candidates: {
    bare: "NATS's client: request() and respond() by hand",
    "bare-no-traces": "the same, without stacks for requests",
    callwire: "callwire natsLink and serveNats",
  },
  workloads,
  plotted: "add, 64 in flight",
  drivenBy: "itself",
  against: "nats-server.mjs",
  sliceMs: 150,
  cycles: 15,
  warmUp: { ms: 1000, calls: 10_000, atMostMs: 2000 },
  targets: [...atLeast(0.85, "callwire", "bare", workloads), flatMemory(8, "callwire")],
  /** Calls of the memory run: by default, with --quick and with --full. */
  memoryItems: { default: 100_000, quick: 20_000, full: 1_000_000 },
};
