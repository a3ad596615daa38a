import { atMostMicros, flatMemory } from "../targets.mjs";

export default {
  name: "gateway",
  title: "A gateway from HTTP to WebSocket, 64 keep-alive connections",
  measures: "CPU of the gateway per call",
  reference: "direct",
  candidates: {
    direct: "callwire serveHttp, answering itself",
    callwire: "callwire gateway, sending on over one WebSocket",
  },
  workloads: ["add", "echo 1 KiB"],
  plotted: "add",
  drivenBy: "load",
  sliceMs: 150,
  cycles: 15,
  warmUp: { ms: 400, calls: 4000, atMostMs: 2000 },
  targets: [...atMostMicros(60, "callwire", ["add", "echo 1 KiB"]), flatMemory(8, "callwire")],
  /** Calls of the memory run: by default, with --quick and with --full. */
  memoryItems: { default: 100_000, quick: 20_000, full: 1_000_000 },
};
