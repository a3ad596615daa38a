/**
 * Long requests, in processes of their own: after some thousand of them V8 allocates what schemas create as old, and
 * short calls in the same process cost more. The short calls here show how much.
 */
export default {
  name: "http-large",
  title: "HTTP server with schemas, requests of 64 KiB and short ones, 64 keep-alive connections",
  measures: "server CPU per request",
  reference: "node-http",
  candidates: {
    "node-http": "node:http by hand, no schema, replies at once",
    callwire: "callwire serveHttp, zod",
    "callwire-node": "callwire serveHttp without its fast path, zod",
  },
  workloads: ["async nested 64 KiB", "async add"],
  plotted: "async nested 64 KiB",
  drivenBy: "load",
  sliceMs: 150,
  cycles: 15,
  warmUp: { ms: 400, calls: 4000, atMostMs: 2000 },
  targets: [],
};
