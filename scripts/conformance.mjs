// Runs the conformance suites of MCP and A2A: `npm run conformance`, or a part of it with
// `npm run conformance server`, `… client` or `… a2a`. A2A's are transcripts of our own, in
// test/a2a/conformance, one for each rule of its specification. MCP's are the official ones. A run
// fails on any failed check, scored or not, except for the scenarios that
// test/mcp/expected-failures.yml names.

// The server is examples/mcp-everything, in a process of its own. The suites start one
// test/mcp/conformance-client.mjs for each scenario, all at once. On a small machine dozens of processes
// starve each other until servers close their connections, so the clients take turns, two at a time for
// each core.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { scriptOptions } from "./script-options.mjs";
import { openTurnstile } from "./turnstile.mjs";

const { positionals } = scriptOptions(import.meta.url, { allowPositionals: true, options: {} });
const [part] = positionals;
if (part !== undefined && !["server", "client", "a2a"].includes(part)) {
  console.error(`the part must be server, client or a2a, not ${part}; see --help`);
  process.exit(2);
}

const root = fileURLToPath(new URL("..", import.meta.url));
const peers = join(root, "test", "mcp", "peers");
const expectedFailures = join(root, "test", "mcp", "expected-failures.yml");
/** Scenarios that may fail, one on each line. */
const expected = new Set(
  [...readFileSync(expectedFailures, "utf8").matchAll(/^ +- (\S+)/gm)].map(([, name]) => name),
);

/** Scenarios that measure time. */
const timed = new Set(["sse-retry"]);

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
  const isGood = part === undefined || part === "a2a" ? await transcriptsPass() : true;
  if (part === "a2a") return isGood ? 0 : 1;
  const everything = startServer();
  const turnstile = await openTurnstile({ atOnce: 2 * availableParallelism(), alone: timed });
  try {
    const url = await urlOf(everything);
    let failed = isGood ? 0 : 1;
    for (const run of runs.filter(({ name }) => name.startsWith(part ?? ""))) {
      failed += (await passes(run, url, turnstile.port)) ? 0 : 1;
    }
    return failed === 0 ? 0 : 1;
  } finally {
    everything.kill();
    turnstile.close();
  }
}

/** The transcripts of A2A, with each kind of card. */
async function transcriptsPass() {
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const args = [vitest, "run", "test/a2a/conformance", "--reporter=json"];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "inherit"],
    cwd: root,
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
  await once(child, "close");
  const { numPassedTests: passed, numFailedTests: failed } = JSON.parse(
    output.slice(output.indexOf("{")),
  );
  const good = failed === 0 && passed > 0;
  if (!good) console.log(output);
  console.log(
    `${good ? "ok    " : "FAILED"} a2a, transcripts: ${passed} cases passed, ${failed} failed`,
  );
  return good;
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
  const turn = pathToFileURL(join(root, "test", "mcp", "turn.mjs")).href;
  const program = join(root, "test", "mcp", "conformance-client.mjs");
  const command = `"${process.execPath}" --import "${turn}" "${program}"`;
  // The time runs from when all are started, so the last one waits for the turns of all others in it.
  const told = ["client", "--command", command, "--timeout", "240000"];
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
 * @param {number} turns Where the clients ask for their turn.
 */
async function passes({ name, suite, args }, url, turns) {
  const told = args.map((arg) => (arg === "URL" ? url : arg));
  const output = await suiteSays(suite, told, turns);
  const results = [...output.matchAll(/^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gm)];
  const scored = results.filter(([, , scenario = ""]) => !expected.has(scenario));
  const failed = scored.filter(([, mark, , , count]) => mark !== "✓" || count !== "0").length;
  const passed = scored.reduce((sum, [, , , count]) => sum + Number(count), 0);
  const good = failed === 0 && passed > 0;
  if (!good) console.log(output);
  console.log(`${good ? "ok    " : "FAILED"} ${name}: ${passed} checks passed, ${failed} failed`);
  return good;
}

/**
 * @param {string} suite
 * @param {string[]} told
 * @param {number} turns
 */
async function suiteSays(suite, told, turns) {
  const shim = pathToFileURL(join(peers, "without-glob.mjs")).href;
  const entry = join(peers, "node_modules", suite, "dist", "index.js");
  const child = spawn(process.execPath, ["--import", shim, entry, ...told], {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: join(root, ".cache"),
    env: { ...process.env, CONFORMANCE_TURNS: String(turns) },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => (output += text));
  }
  await once(child, "close");
  return output;
}
