/**
 * What many open connections cost: `npm run scale`, which writes the figures to docs/reliability.md, or
 * `node bench/connections.mjs`, which does so with --save. WebSockets and idle HTTP connections on one process, next to
 * servers without callwire.
 *
 *   npm run scale -- [--count 10000] [--calls 5000]
 */
import { record } from "../scripts/reliability.mjs";
import { scriptOptions } from "../scripts/script-options.mjs";
import { asking, start } from "./processes.mjs";

const names = ["callwire WebSocket", "bare ws", "callwire HTTP", "bare node:http"];
const { values: flags } = scriptOptions(import.meta.url, {
  options: {
    count: { type: "string", default: "10000" },
    calls: { type: "string", default: "5000" },
    save: { type: "boolean", default: false },
  },
});
const [count, calls] = [flags.count, flags.calls].map(Number);
if (!(count > 0) || !(calls > 0)) {
  console.error("--count and --calls must be numbers above 0");
  process.exit(2);
}

const servers = [];
for (const name of names) {
  const figures = await measured(name);
  console.log(figures);
  servers.push(figures);
}
if (flags.save) record("scale", { servers });

async function measured(name) {
  const server = end("candidate", name);
  const client = end("load", `the clients of ${name}`);
  try {
    const port = await server.ask("serve", { name });
    const isWebSocket = name.endsWith("WebSocket") || name.endsWith("ws");
    // The first connections also make the server compile its code.
    const first = Math.min(200, count / 2);
    await client.ask("open", { port, count: first, isWebSocket }, 60_000);
    await client.ask("times", { count: Math.min(calls, 2_000) }, 60_000);
    const before = await server.ask("memory", {}, 60_000);
    await client.ask("open", { port, count: count - first, isWebSocket }, 600_000);
    const after = await server.ask("memory", {}, 60_000);
    const times = await client.ask("times", { count: calls }, 600_000);
    const at = (share) => times[Math.floor(times.length * share)];
    const bytesEach = (after - before) / (count - first);
    return { name, connections: count, bytesEach, p50Ms: at(0.5), p99Ms: at(0.99) };
  } finally {
    for (const { child } of [server, client]) if (child.connected) child.disconnect();
  }
}

function end(role, label) {
  const child = start("connections-end.mjs", [], { role, nodeFlags: ["--expose-gc"] });
  return { child, ask: asking(child, label) };
}
