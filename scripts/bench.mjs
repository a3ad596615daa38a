// Measures speed against the peers: `npm run bench [-- options of bench/run.mjs]`. With the name of another script of
// bench first, it runs that one, also with the packages that bench needs.
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

const args = process.argv.slice(2);
const script = `bench/${args[0]?.endsWith(".mjs") ? args.shift() : "run.mjs"}`;
// The help needs neither a build nor packages.
if (args.includes("--help")) {
  run(process.execPath, [script, "--help"]);
  process.exit();
}
run(process.execPath, ["scripts/build.mjs", "--if-stale"]);
if (changed("bench/package-lock.json") > changed("bench/node_modules/.package-lock.json")) {
  console.log("Installing the libraries to compare with …");
  run("npm", ["ci", "--prefix", "bench", "--no-audit", "--no-fund"]);
}
const at = args.indexOf("--node");
if (at === -1) run(process.execPath, [script, ...args]);
else {
  const [, version = ""] = args.splice(at, 2);
  // The results of this repository are those of one version.
  const out = args.includes("--out") ? [] : ["--out", `.cache/bench-node-${version}`];
  run(fetchedNode(version), [script, ...args, ...out]);
}

/** @param {string} version */
function fetchedNode(version) {
  const { path } = services()[`node ${version}`] ?? {};
  if (path !== undefined) return path;
  console.error(`bench: there is no Node ${version}; run: node scripts/fetch-peers.mjs`);
  process.exit(2);
}

/** @returns {Record<string, { path?: string }>} */
function services() {
  try {
    return JSON.parse(readFileSync(join(root, ".cache/services.json"), "utf8"));
  } catch {
    return {};
  }
}

/** @param {string} file */
function changed(file) {
  return statSync(join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  const shell = process.platform === "win32" && command === "npm";
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit", shell });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
