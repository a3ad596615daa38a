// Feeds random inputs to everything that reads what strangers send: `npm run fuzz`. A target is an entry of
// test/fuzz/targets.ts. An input that fails is minimised and kept in test/fuzz/corpus, which `npm test` replays.
//
//   npm run fuzz -- [--inputs 1000000] [--jobs 2] [--seed 1] [--save] [--unreached] [targets …]
//
// The inputs are divided so that each target takes about as long. With --save the figures are written to
// docs/reliability.md; targets that are not named keep theirs. --unreached lists the files in which blocks were not
// executed.
import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { markBlocks } from "./fuzz-blocks.mjs";
import { record } from "./reliability.mjs";
import { scriptOptions } from "./script-options.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
/** The command line imports the package by its public names. @type {import("esbuild").Plugin} */
const ownNames = {
  name: "own names",
  setup(building) {
    /** @type {{ exports: Record<string, any> }} */
    const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    building.onResolve({ filter: /^callwire(\/|$)/ }, ({ path }) => {
      const { node, default: all } = exports[path.replace("callwire", ".")];
      const built = node?.default ?? all;
      return { path: join(root, built.replace("dist", "src").replace(/js$/, "ts")) };
    });
  },
};
/** A job that reports nothing for this long is in an endless loop. */
const silentMs = 60_000;

const { values: flags, positionals } = scriptOptions(import.meta.url, {
  allowPositionals: true,
  options: {
    inputs: { type: "string", default: "1000000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    jobs: { type: "string", default: "1" },
    save: { type: "boolean", default: false },
    unreached: { type: "boolean", default: false },
  },
});
const inputs = wholeNumber("inputs", flags.inputs);
const seed = wholeNumber("seed", flags.seed);
const jobs = Math.max(1, wholeNumber("jobs", flags.jobs));

const folder = mkdtempSync(join(root, ".fuzz-"));
process.on("exit", () => rmSync(folder, { recursive: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

const { path, files, targets } = await bundle();
const names = positionals.length === 0 ? Object.keys(targets) : positionals;
const unknown = names.find((name) => targets[name] === undefined);
if (unknown !== undefined) {
  fail(`"${unknown}" is not a target; the targets are ${Object.keys(targets).join(", ")}`);
}

/** @param {string} name */
const weightOf = (name) => targets[name]?.briefly ?? 0;
const weights = names.reduce((sum, name) => sum + weightOf(name), 0);
const waiting = [...names];
/** @type {Record<string, any>[]} */
const results = [];
/** @type {Set<number>} */
const reached = new Set();
await Promise.all(Array.from({ length: jobs }, work));
results.sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
const total = results.reduce((sum, result) => sum + result.inputs, 0);
console.log(`${total} inputs, ${reached.size} of ${files.length} blocks executed, seed ${seed}`);
if (flags.unreached) listUnreached();
if (flags.save) record("fuzz", { targets: results });
process.exitCode = results.some(({ failures }) => failures > 0) ? 1 : 0;

async function work() {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const share = Math.ceil((inputs * weightOf(name)) / weights);
    const started = performance.now();
    const outcome = await runJob(name, share);
    const seconds = Math.round((performance.now() - started) / 100) / 10;
    for (const block of outcome.blocks) reached.add(block);
    const failures = outcome.found === undefined ? 0 : 1;
    results.push({
      name,
      inputs: outcome.inputs,
      seconds,
      seed,
      failures,
      peakMb: outcome.peakMb,
      blocks: outcome.blocks.length,
    });
    console.log(
      `${name}: ${outcome.inputs} inputs in ${seconds} s (${outcome.cpuSeconds} s of CPU), ${outcome.blocks.length} blocks, ${outcome.peakMb} MB, ${JSON.stringify(outcome.reached)}`,
    );
    if (outcome.found !== undefined) report(name, share, outcome.found);
  }
}

/** @param {string} name @param {number} share @returns {Promise<any>} */
function runJob(name, share) {
  return new Promise((resolve) => {
    const args = [path, files.length, name, share, seed].map(String);
    const job = fork(fileURLToPath(new URL("fuzz-job.mjs", import.meta.url)), args, { cwd: root });
    let done = 0;
    /** @param {string} error */
    const failed = (error) => {
      job.kill("SIGKILL");
      resolve({
        inputs: done,
        reached: {},
        blocks: [],
        found: { error: `${error} after input ${done}` },
      });
    };
    let timer = setTimeout(failed, silentMs, "nothing");
    job.on("message", (/** @type {any} */ message) => {
      clearTimeout(timer);
      if (message.outcome !== undefined) return resolve(message.outcome);
      done = message.done;
      timer = setTimeout(failed, silentMs, `no progress for ${silentMs / 1000} s`);
    });
    job.on("exit", (code, signal) => {
      clearTimeout(timer);
      failed(`the process ended with ${signal ?? code}`);
    });
  });
}

/** @param {string} name @param {number} share @param {{ input?: unknown, error: string }} found */
function report(name, share, { input, error }) {
  console.error(`${name}: ${error}`);
  if (input === undefined) {
    console.error(`repeat it with: npm run fuzz -- --inputs ${share} --seed ${seed} ${name}`);
    return;
  }
  const text = JSON.stringify({ found: error.split("\n")[0], input }, undefined, 2);
  const hash = createHash("sha256").update(JSON.stringify(input)).digest("hex").slice(0, 8);
  const file = `test/fuzz/corpus/${name}/${hash}.json`;
  mkdirSync(join(root, "test/fuzz/corpus", name), { recursive: true });
  writeFileSync(join(root, file), `${text}\n`);
  console.error(`kept in ${file}; npx vitest run test/fuzz repeats it`);
}

function listUnreached() {
  /** @type {Map<string, [number, number]>} */
  const counts = new Map();
  for (const [block, file] of files.entries()) {
    const [missed, all] = counts.get(file) ?? [0, 0];
    counts.set(file, [missed + (reached.has(block) ? 0 : 1), all + 1]);
  }
  const rows = [...counts].filter(([, [missed, all]]) => missed > 0 && missed < all);
  for (const [file, [missed, all]] of rows.sort((a, b) => b[1][0] - a[1][0])) {
    console.log(`${missed} of ${all} blocks not executed: ${file}`);
  }
}

/** Node 20 does not run TypeScript, and the blocks have to be marked. */
async function bundle() {
  const { outputFiles } = await build({
    stdin: {
      contents:
        'export { run } from "./test/fuzz/run.ts"; export { targets } from "./test/fuzz/targets.ts";',
      resolveDir: root,
      loader: "ts",
    },
    absWorkingDir: root,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    plugins: [ownNames],
    write: false,
  });
  const [{ text }] = /** @type {[{ text: string }]} */ (/** @type {unknown} */ (outputFiles));
  const { code, files } = markBlocks(text);
  const path = join(folder, "targets.mjs");
  writeFileSync(path, code);
  Object.assign(globalThis, { fuzzedBlocks: { blocks: [], reach() {} } });
  /** @type {{ targets: Record<string, { briefly: number }> }} */
  const { targets } = await import(pathToFileURL(path).href);
  return { path, files, targets };
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
