// Runs the official conformance suites of MCP: `npm run conformance`.
//
// Each run is a suite and what it is told. The server is examples/mcp-everything, in a process of
// its own. A run fails on any failed check, scored or not.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const peers = join(root, "test", "mcp", "peers");
const expectedFailures = join(root, "test", "mcp", "expected-failures.yml");

/** @typedef {{ name: string, suite: string, args: string[] }} Run */

/** @type {Run[]} */
const runs = [
  server("0.1.16, all scenarios", "conformance-2025", "--suite", "all"),
  server("0.2.0-alpha.12, 2025-11-25", "conformance-2026", "--requirements", "2025-11-25"),
  server("0.2.0-alpha.12, 2026-07-28", "conformance-2026", "--requirements", "2026-07-28"),
];

process.exitCode = await main();

async function main() {
  if (!existsSync(join(peers, "node_modules", "conformance-2026"))) {
    console.error("The suites are not here; node scripts/fetch-peers.mjs fetches them.");
    return 2;
  }
  const build = join(root, "scripts", "build.mjs");
  spawnSync(process.execPath, [build, "--if-stale"], { stdio: ["ignore", "ignore", "inherit"] });
  mkdirSync(join(root, ".cache"), { recursive: true });
  const everything = startServer();
  try {
    const url = await urlOf(everything);
    let failed = 0;
    for (const run of runs) failed += (await passes(run, url)) ? 0 : 1;
    return failed === 0 ? 0 : 1;
  } finally {
    everything.kill();
  }
}

/**
 * @param {string} name
 * @param {string} suite
 * @param {string[]} args
 * @returns {Run}
 */
function server(name, suite, ...args) {
  return { name: `server, ${name}`, suite, args: ["server", "--url", "URL", ...args] };
}

function startServer() {
  const hooks = pathToFileURL(join(root, "examples", "typescript.mjs")).href;
  const file = join(root, "examples", "mcp-everything", "server.ts");
  return spawn(process.execPath, ["--import", hooks, file], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, PORT: "0" },
  });
}

/** @param {ReturnType<typeof startServer>} child */
async function urlOf(child) {
  for await (const line of createInterface(child.stdout)) {
    const [url] = line.match(/https?:\S+/) ?? [];
    // The suites want a name that is known to be local.
    if (url !== undefined) return url.replace("127.0.0.1", "localhost");
  }
  throw new Error("the server ended before it listened");
}

/**
 * @param {Run} run
 * @param {string} url
 */
async function passes({ name, suite, args }, url) {
  const shim = pathToFileURL(join(peers, "without-glob.mjs")).href;
  const entry = join(peers, "node_modules", suite, "dist", "index.js");
  const told = args.map((arg) => (arg === "URL" ? url : arg));
  const child = spawn(
    process.execPath,
    ["--import", shim, entry, ...told, "--expected-failures", expectedFailures],
    { stdio: ["ignore", "pipe", "pipe"], cwd: join(root, ".cache") },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => (output += text));
  }
  const [code] = await once(child, "close");
  const [, passed = "0", failed = "?"] = /Total: (\d+) passed, (\d+) failed/.exec(output) ?? [];
  const good = code === 0 && failed === "0" && Number(passed) > 0;
  if (!good) console.log(output);
  console.log(`${good ? "ok    " : "FAILED"} ${name}: ${passed} checks passed, ${failed} failed`);
  return good;
}
