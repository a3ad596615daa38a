// Builds src/ into dist/: `node scripts/build.mjs [--if-stale]`.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");
const inputs = [
  "src",
  "examples",
  "playground",
  "scripts/build.mjs",
  "scripts/build-cli.mjs",
  "scripts/build-node.mjs",
  "scripts/bundle-files.mjs",
  "scripts/build-playground.mjs",
  "scripts/licences.mjs",
  "package.json",
  "tsconfig.json",
  "tsconfig.build.json",
];

const { values: flags } = parseArgs({ options: { "if-stale": { type: "boolean" } } });
if (!flags["if-stale"] || isStale()) await build();

async function build() {
  // Someone who installs a fresh clone by its path runs this without the tools that it needs.
  if (!existsSync(join(root, "node_modules", "esbuild"))) {
    console.error(`Run "npm install" in ${root} first: what callwire is built with is not there.`);
    process.exitCode = 1;
    return;
  }
  const [{ bundleCli }, { bundleForNode }, { buildPlayground }] = await Promise.all([
    import("./build-cli.mjs"),
    import("./build-node.mjs"),
    import("./build-playground.mjs"),
  ]);
  console.log("Building callwire …");
  const started = performance.now();
  // The new tree replaces the old one only when it is complete, so that nobody runs half a build.
  const fresh = join(root, `dist-${process.pid}`);
  const old = `${fresh}-old`;
  try {
    emit(fresh);
    await Promise.all([
      bundleForNode(join(fresh, "node")),
      bundleCli(join(fresh, "cli")),
      buildPlayground(join(fresh, "playground")),
    ]);
    // For editors of gateway configs.
    copyFileSync(join(root, "docs", "gateway.schema.json"), join(fresh, "gateway.schema.json"));
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(fresh, dist);
    console.log(`Built dist/ in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  } catch (error) {
    console.error(`Build failed: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  } finally {
    for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} outDir */
function emit(outDir) {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const args = [tsc, "-p", "tsconfig.build.json", "--outDir", outDir];
  const { status, error } = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) throw new Error("the TypeScript compiler reported the errors above");
}

function isStale() {
  const built = newest(join(dist, "cli", "main.js"));
  return built === 0 || inputs.some((path) => newest(join(root, path)) > built);
}

/**
 * The latest change of a file or of anything in a folder; 0 if there is nothing.
 * @param {string} path
 * @returns {number}
 */
function newest(path) {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 0;
  if (!stats.isDirectory()) return stats.mtimeMs;
  const entries = readdirSync(path).filter((name) => name !== "node_modules");
  // The folder's own time tells of files that were deleted; in a package, also of npm's installs.
  const own = entries.includes("package.json") ? 0 : stats.mtimeMs;
  return Math.max(own, ...entries.map((name) => newest(join(path, name))));
}
