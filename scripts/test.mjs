// Every check of the project: `npm test`. With --full it also runs what takes too long for every
// change: `npm run test:full`. It stops after the first group with a failure.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { passedFile } from "./release.mjs";
import { scriptOptions } from "./script-options.mjs";
import { reportFile } from "./test-reporter.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const colors = process.stdout.isTTY ? [] : ["--colors=off"];
const { values: flags } = scriptOptions(import.meta.url, {
  options: { full: { type: "boolean", default: false } },
});

/**
 * @typedef {{ name: string, command: string, args: string[], needs?: string[], isLive?: boolean }} Step
 * @typedef {{ name: string, passed: boolean, seconds: number }} Result
 */

/** The packages that tests with peers import, by the names in scripts/fetch-peers.mjs. */
const peers = [
  "playwright",
  "npm peers",
  "mcp peers",
  "a2a peers",
  "tracing example",
  "board example",
  "photo example",
  "vue example",
];

/**
 * The steps of a group run at the same time. What a step prints is shown if it fails, or at once if it is live.
 * @type {Step[][]}
 */
const groups = [
  [
    { ...step("runtimes, programs and peers", "node", "scripts/fetch-peers.mjs"), isLive: true },
    step("format and lint", "biome", "ci", "--error-on-warnings", ...colors),
    step("types of sources, tests and examples", "tsc", "-p", "tsconfig.json"),
    step("types of portable code", "tsc", "-p", "tsconfig.portable.json"),
    step("types of the playground", "tsc", "-p", "playground/tsconfig.json"),
    step("build", "node", "scripts/build.mjs"),
  ],
  [
    { ...step("types of tests with peers", "tsc", "-p", "tsconfig.peers.json"), needs: peers },
    step("package contents", "publint", "--strict"),
    step("package types", "attw", "--pack", "--profile", "esm-only", "--format", "ascii"),
    step("size", "size-limit"),
    step("unused code and dependencies", "knip", "--no-progress"),
    { ...step("tests", "vitest", "run", "--reporter=./scripts/test-reporter.mjs"), isLive: true },
  ],
];

/** @type {Result[]} */
const results = [];
const started = performance.now();
mkdirSync(join(root, ".cache"), { recursive: true });
rmSync(reportFile, { force: true });
console.log(
  flags.full
    ? "Everything, with the long tests; this takes several times as long as npm test."
    : "About 5 minutes on two cores; the first run also installs what the tests need, 1 minute more.",
);
for (const group of groups) {
  results.push(...(await Promise.all(group.map(run))));
  if (results.some(({ passed }) => !passed)) break;
}
summarize();

/**
 * @param {string} name
 * @param {string} command
 * @param {string[]} args
 * @returns {Step}
 */
function step(name, command, ...args) {
  return { name, command, args };
}

/**
 * @param {Step} step
 * @returns {Promise<Result>}
 */
async function run({ name, command, args, needs = [], isLive = false }) {
  const absent = needs.filter(isMissing);
  if (absent.length > 0) {
    console.log(`skipped  ${name}: ${absent.join(", ")} could not be installed`);
    return { name, passed: true, seconds: 0 };
  }
  const begun = performance.now();
  const { passed, output } = await execute(command, args, isLive);
  const seconds = (performance.now() - begun) / 1000;
  console.log(`${passed ? "ok    " : "FAILED"} ${seconds.toFixed(1).padStart(6)} s  ${name}`);
  if (!passed) process.stdout.write(output);
  return { name, passed, seconds };
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {boolean} isLive
 * @returns {Promise<{ passed: boolean, output: string }>}
 */
function execute(command, args, isLive) {
  const path = [join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter);
  const child = spawn(command, args, {
    cwd: root,
    stdio: isLive ? "inherit" : ["ignore", "pipe", "pipe"],
    env: { ...process.env, PATH: path, ...(flags.full ? { CALLWIRE_TESTS: "full" } : {}) },
    // On Windows the commands of node_modules/.bin are shell scripts.
    shell: process.platform === "win32",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text) => (output += text));
  }
  return new Promise((resolve) => {
    child.on("error", ({ message }) => resolve({ passed: false, output: `${message}\n` }));
    child.on("close", (code) => resolve({ passed: code === 0, output }));
  });
}

function summarize() {
  const tests = readReport();
  console.log("\n=== summary");
  for (const { name } of groups.flat()) {
    if (results.every((result) => result.name !== name)) console.log(`not run  ${name}`);
  }
  const failedChecks = results.filter(({ name, passed }) => name !== "tests" && !passed);
  for (const { name } of failedChecks) console.log(`FAILED ${name}: its output is above`);
  for (const each of tests.failures) console.log(`\n${each}`);
  for (const [suite, count] of tests.leftOut) console.log(`skipped ${count} of: ${suite}`);
  // A run that failed outside any test has no failed test to count, so it counts as one.
  const broken = results.some(({ name, passed }) => name === "tests" && !passed);
  if (broken && tests.failed === 0)
    console.log("FAILED tests: the run broke off, and its last output is above");
  const failed = failedChecks.length + Math.max(tests.failed, broken ? 1 : 0);
  const passed = results.filter((result) => result.name !== "tests" && result.passed).length;
  const skipped = tests.skipped > 0 ? `, ${tests.skipped} skipped` : "";
  const count = tests.passed + tests.failed + tests.skipped;
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(`\n${results.length} checks, ${count} tests, ${seconds} s`);
  console.log(`${passed + tests.passed} passed, ${failed} failed${skipped}`);
  process.exitCode = failed === 0 ? 0 : 1;
  if (flags.full && failed === 0) notePassed();
}

/** Notes which tree passed, for scripts/release.mjs; none if there are changes that are not committed. */
function notePassed() {
  const git = (/** @type {string[]} */ ...args) =>
    spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout?.trim();
  if (git("status", "--porcelain") !== "") return;
  const tree = git("rev-parse", "HEAD^{tree}");
  writeFileSync(join(root, passedFile), `${JSON.stringify({ tree })}\n`);
}

/**
 * Whether something that tests need could not be installed.
 * @param {string} service
 */
function isMissing(service) {
  const file = join(root, ".cache", "services.json");
  return !existsSync(file) || "missing" in JSON.parse(readFileSync(file, "utf8"))[service];
}

/** @returns {import("./test-reporter.mjs").TestReport} */
function readReport() {
  return existsSync(reportFile)
    ? JSON.parse(readFileSync(reportFile, "utf8"))
    : { passed: 0, failed: 0, skipped: 0, failures: [], leftOut: [] };
}
