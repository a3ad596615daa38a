import { atLeast, noLater } from "../targets.mjs";

export default {
  name: "http-realistic",
  title: "HTTP server with schemas, requests as clients send them, 64 keep-alive connections",
  measures: "server CPU per request",
  reference: "node-http",
  candidates: {
    "node-http": "node:http by hand, no schema, replies at once",
    callwire: "callwire serveHttp, zod",
    "callwire-node": "callwire serveHttp without its fast path, zod",
  },
  workloads: [
    "add",
    "async add",
    "nested",
    "async nested",
    "async add with spaces",
    "async nested with spaces",
    "batch of 100",
    "batch of 20 mixed",
    "async add, 1 % errors",
    "async add, by wrk",
    "async nested with spaces, by wrk",
  ],
  plotted: "async nested",
  drivenBy: "load",
  sliceMs: 150,
  cycles: 15,
  warmUp: { ms: 400, calls: 4000, atMostMs: 2000 },
  targets: [
    atLeast(1.6, "callwire", "node-http", ["add"]),
    atLeast(1.4, "callwire", "node-http", ["async add", "async add with spaces"]),
    atLeast(1.35, "callwire", "node-http", ["nested"]),
    atLeast(1.2, "callwire", "node-http", ["async nested"]),
    atLeast(1.3, "callwire", "node-http", ["batch of 100"]),
    noLater("callwire", "node-http", ["add", "async add", "nested", "async nested"]),
  ].flat(),
};
