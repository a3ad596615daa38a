/**
 * Draws where the time of a call goes: `node bench/flame.mjs` profiles a server and a client under load and writes
 * flame-server.svg and flame-client.svg to docs/images. A bar is a function, as wide as its share of the CPU time; what
 * it calls is above it.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { flameGraph } from "./flame-graph.mjs";
import { asking, start } from "./processes.mjs";

const images = fileURLToPath(new URL("../docs/images", import.meta.url));

await draw(
  "flame-server.svg",
  "Server: echo of 1 KiB over HTTP, 64 connections",
  async (profiled) => {
    const server = profiled("growth-end.mjs");
    const client = end("growth-end.mjs");
    const { port } = await server.ask("serve", { kind: "callwire" });
    const load = (ms) => client.ask("load", { port, kib: 1, connections: 64, ms });
    await load(4000);
    client.child.disconnect();
    return server;
  },
);

await draw("flame-client.svg", "Client: httpLink, add, 64 calls in flight", async (profiled) => {
  const upstream = end("upstream.mjs");
  const { port } = await upstream.ask("start");
  const client = profiled("host.mjs", ["http-client", "callwire"]);
  await client.ask("start", { argument: { origin: `http://127.0.0.1:${port}` } });
  await client.ask("prepare", { workload: "add" });
  await client.ask("slice", { workload: "add", ms: 4000 });
  upstream.child.disconnect();
  return client;
});

async function draw(file, title, run) {
  const folder = mkdtempSync(join(tmpdir(), "flame-"));
  try {
    const flags = ["--cpu-prof", `--cpu-prof-dir=${folder}`, "--expose-gc"];
    const { child } = await run((name, args) => end(name, args, flags));
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.disconnect();
    await ended;
    const [name] = readdirSync(folder);
    const profile = JSON.parse(readFileSync(join(folder, name), "utf8"));
    writeFileSync(join(images, file), flameGraph(profile, title));
    console.log(`docs/images/${file}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function end(file, args = [], nodeFlags = ["--expose-gc"]) {
  const role = nodeFlags.length > 1 ? "candidate" : "load";
  const child = start(file, args, { role, nodeFlags });
  const ask = asking(child, file);
  return { child, ask: (type, content = {}) => ask(type, content, 60_000) };
}
