import { atMostMicros } from "../targets.mjs";

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
  targets: atMostMicros(60, "callwire", ["add", "echo 1 KiB"]),
};
