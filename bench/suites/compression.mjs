import { aheadOf } from "../targets.mjs";

export default {
  name: "compression",
  title: "Replies of 64 KiB from HTTP servers that compress them, 64 keep-alive connections",
  measures: "server CPU per request",
  reference: "node-http",
  candidates: {
    "node-http": "node:http and gzip by hand",
    callwire: "callwire serveHttp",
    fastify: "fastify with @fastify/compress",
    hono: "hono on its node server with hono/compress",
  },
  workloads: ["64 KiB, not compressed", "64 KiB, gzip", "64 KiB, as a browser accepts it"],
  plotted: "64 KiB, gzip",
  drivenBy: "load",
  sliceMs: 200,
  cycles: 12,
  warmUp: { ms: 400, calls: 500, atMostMs: 2000 },
  targets: [
    aheadOf("callwire", ["fastify", "hono"], ["64 KiB, gzip", "64 KiB, as a browser accepts it"]),
  ].flat(),
};
