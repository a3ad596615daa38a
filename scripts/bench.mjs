// Measures speed against the peers: `npm run bench [-- options of bench/run.mjs]`.
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

run(process.execPath, ["scripts/build.mjs", "--if-stale"]);
if (changed("bench/package-lock.json") > changed("bench/node_modules/.package-lock.json")) {
  console.log("Installing the libraries to compare with …");
  run("npm", ["ci", "--prefix", "bench", "--no-audit", "--no-fund"]);
}
run(process.execPath, ["bench/run.mjs", ...process.argv.slice(2)]);

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
