import { atLeast, idleSession } from "../targets.mjs";

export default {
  name: "a2a-http",
  title: "A2A 1.0, one task for each message, 64 keep-alive connections",
  measures: "server CPU per request",
  reference: "sdk",
  candidates: {
    sdk: "official SDK 1.3 on express 5",
    callwire: "callwire a2aMounts",
  },
  workloads: ["SendMessage", "SendStreamingMessage"],
  plotted: "SendMessage",
  drivenBy: "load",
  sliceMs: 150,
  cycles: 15,
  warmUp: { ms: 400, calls: 4000, atMostMs: 3000 },
  idleSessions: { default: 5_000, quick: 1_000, full: 9_000 },
  targets: [
    ...atLeast(5, "callwire", "sdk", ["SendMessage", "SendStreamingMessage"]),
    idleSession(5, "callwire"),
  ],
};
