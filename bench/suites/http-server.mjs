import { aheadOf, atLeast } from "../targets.mjs";

export default {
  name: "http-server",
  title: "HTTP server on Node, 64 keep-alive connections",
  measures: "server CPU per request",
  reference: "node-http",
  candidates: {
    "node-http": "node:http by hand",
    callwire: "callwire serveHttp",
    jayson: "jayson",
    "json-rpc-2.0": "json-rpc-2.0 on node:http",
    fastify: "fastify, dispatch by hand",
    hono: "hono on its node server, dispatch by hand",
    "open-rpc": "@open-rpc/server-js",
    orpc: "oRPC (its own wire)",
    trpc: "tRPC standalone (its own wire)",
  },
  workloads: ["add", "echo 1 KiB"],
  plotted: "add",
  drivenBy: "load",
  sliceMs: 150,
  cycles: 15,
  warmUp: { ms: 400, calls: 4000, atMostMs: 2000 },
  targets: [
    atLeast(0.95, "callwire", "node-http", ["add"]),
    aheadOf(
      "callwire",
      ["jayson", "json-rpc-2.0", "fastify", "hono", "open-rpc", "orpc", "trpc"],
      ["add"],
    ),
  ].flat(),
};
