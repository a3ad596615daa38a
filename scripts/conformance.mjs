// Runs the official conformance suites of MCP: `npm run conformance`, or one half of it with
// `npm run conformance server` or `… client`.
//
// Each run is a suite and what it is told. The server is examples/mcp-everything, in a process of
// its own; the client is test/mcp/conformance-client.mjs, of which the suites start one for each
// scenario. A run fails on any failed check, scored or not, except for the scenarios that
// test/mcp/expected-failures.yml names.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const peers = join(root, "test", "mcp", "peers");
const expectedFailures = join(root, "test", "mcp", "expected-failures.yml");
/** Scenarios that may fail, one on each line. */
const expected = new Set(
  [...readFileSync(expectedFailures, "utf8").matchAll(/^ +- (\S+)/gm)].map(([, name]) => name),
);

/** @typedef {{ name: string, suite: string, args: string[] }} Run */

/** @type {Run[]} */
const runs = [
  server("0.1.16, all scenarios", "conformance-2025", "--suite", "all"),
  server("0.2.0-alpha.12, 2025-11-25", "conformance-2026", "--requirements", "2025-11-25"),
  server("0.2.0-alpha.12, 2026-07-28", "conformance-2026", "--requirements", "2026-07-28"),
  client("0.1.16, all scenarios", "conformance-2025", "--suite", "all"),
  client("0.2.0-alpha.12, 2025-11-25", "conformance-2026", "--requirements", "2025-11-25"),
  client("0.2.0-alpha.12, 2026-07-28", "conformance-2026", "--requirements", "2026-07-28"),
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
  const [half = ""] = process.argv.slice(2);
  const everything = startServer();
  try {
    const url = await urlOf(everything);
    let failed = 0;
    for (const run of runs.filter(({ name }) => name.startsWith(half))) {
      failed += (await passes(run, url)) ? 0 : 1;
    }
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

/**
 * @param {string} name
 * @param {string} suite
 * @param {string[]} args
 * @returns {Run}
 */
function client(name, suite, ...args) {
  const command = `"${process.execPath}" "${join(root, "test", "mcp", "conformance-client.mjs")}"`;
  const told = ["client", "--command", command, "--timeout", "90000"];
  return { name: `client, ${name}`, suite, args: [...told, ...args] };
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
  const told = args.map((arg) => (arg === "URL" ? url : arg));
  const { output } = await suiteSays(suite, told);
  const results = [...output.matchAll(/^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gm)];
  const scored = results.filter(([, , scenario = ""]) => !expected.has(scenario));
  let failed = 0;
  for (const [, mark, scenario = "", , count] of scored) {
    if (mark === "✓" && count === "0") continue;
    // Dozens of clients run at once, and some scenarios measure time; alone it must pass.
    const again = await alone(suite, told, scenario);
    if (again.good) continue;
    failed++;
    console.log(again.output);
  }
  const passed = scored.reduce((sum, [, , , count]) => sum + Number(count), 0);
  const good = failed === 0 && passed > 0;
  if (results.length === 0) console.log(output);
  console.log(`${good ? "ok    " : "FAILED"} ${name}: ${passed} checks passed, ${failed} failed`);
  return good;
}

/**
 * @param {string} suite
 * @param {string[]} told
 * @param {string} scenario
 */
async function alone(suite, told, scenario) {
  const at = told.findIndex((arg) => arg === "--suite" || arg === "--requirements");
  const revision = told[at] === "--requirements" ? ["--spec-version", told[at + 1] ?? ""] : [];
  const { code, output } = await suiteSays(suite, [
    ...told.slice(0, at),
    "--scenario",
    scenario,
    ...revision,
  ]);
  return { good: code === 0, output };
}

/**
 * @param {string} suite
 * @param {string[]} told
 */
async function suiteSays(suite, told) {
  const shim = pathToFileURL(join(peers, "without-glob.mjs")).href;
  const entry = join(peers, "node_modules", suite, "dist", "index.js");
  const child = spawn(process.execPath, ["--import", shim, entry, ...told], {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: join(root, ".cache"),
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => (output += text));
  }
  const [code] = await once(child, "close");
  return { code, output };
}
