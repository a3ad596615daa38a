// Feeds random inputs to what reads the messages of strangers: `npm run fuzz`. A target is an entry of
// test/fuzz/targets.ts; `npm test` tries a few inputs of each.
//
//   npm run fuzz -- [--inputs 1000000] [--seed 1] [targets …]
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    inputs: { type: "string", default: "1000000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
  },
});
const inputs = wholeNumber("inputs", flags.inputs);
const seed = wholeNumber("seed", flags.seed);
const { targets, Random } = await load();

for (const name of positionals.length === 0 ? Object.keys(targets) : positionals) {
  const target = targets[name];
  if (target === undefined) {
    fail(`"${name}" is not a target; the targets are ${Object.keys(targets).join(", ")}`);
  }
  console.log(`${name}: ${inputs} inputs, seed ${seed}`);
  try {
    const started = performance.now();
    const reached = await target.run(new Random(seed), inputs);
    const seconds = Math.round((performance.now() - started) / 1_000);
    console.log(`${name}: no failure in ${seconds} s`, reached);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    fail(`repeat it with: npm run fuzz -- --inputs ${inputs} --seed ${seed} ${name}`);
  }
}
// Servers in memory may have timers.
process.exit(0);

/** Node 20 does not run TypeScript. @returns {Promise<typeof import("../test/fuzz/targets.ts")>} */
async function load() {
  const root = fileURLToPath(new URL("..", import.meta.url));
  // Beside the packages that it imports.
  const outfile = join(root, "node_modules", ".cache", `fuzz-${process.pid}.mjs`);
  await build({
    entryPoints: [join(root, "test", "fuzz", "targets.ts")],
    outfile,
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
  });
  try {
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(outfile);
  }
}

/** @param {string} name @param {string} text */
function wholeNumber(name, text) {
  if (!/^\d{1,12}$/.test(text)) fail(`--${name} must be a whole number, not "${text}"`);
  return Number(text);
}

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(message);
  process.exit(1);
}
