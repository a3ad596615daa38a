import { atLeast } from "../targets.mjs";

export default {
  name: "security",
  title: "Guards of an HTTP server, 64 keep-alive connections",
  measures: "server CPU per request",
  reference: "unguarded",
  candidates: {
    unguarded: "callwire serveHttp, the key is not looked at",
    "api-key": "API key and access rule",
    policy: "API key and a policy of ten rules",
    preset: "secureDefaults: also rate limits, audit log, load shedding",
  },
  workloads: ["add"],
  plotted: "add",
  drivenBy: "load",
  sliceMs: 150,
  cycles: 21,
  warmUp: { ms: 400, calls: 4000, atMostMs: 2000 },
  targets: [
    atLeast(0.97, "api-key", "unguarded", ["add"]),
    atLeast(0.8, "preset", "unguarded", ["add"]),
  ].flat(),
};
