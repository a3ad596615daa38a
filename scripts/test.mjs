// Every check of the project, in order: `npm test`. It stops at the first that fails.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { delimiter, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const report = join(root, ".cache", "vitest.json");
const colors = process.stdout.isTTY ? [] : ["--colors=off"];

/** @type {[name: string, command: string, ...args: string[]][]} */
const steps = [
  ["format and lint", "biome", "ci", "--error-on-warnings", ...colors],
  ["types of sources, tests and examples", "tsc", "-p", "tsconfig.json"],
  ["types of portable code", "tsc", "-p", "tsconfig.portable.json"],
  ["types of the playground", "tsc", "-p", "playground/tsconfig.json"],
  ["fetch runtimes and peers", "node", "scripts/fetch-peers.mjs"],
  ["types of tests with peers", "tsc", "-p", "tsconfig.peers.json"],
  ["build", "node", "scripts/build.mjs"],
  ["tests", "vitest", "run", "--reporter=default", "--reporter=json", `--outputFile=${report}`],
  ["package contents", "publint", "--strict"],
  ["package types", "attw", "--pack", "--profile", "esm-only"],
  ["size", "size-limit"],
  ["unused code and dependencies", "knip", "--no-progress"],
];

mkdirSync(join(root, ".cache"), { recursive: true });
rmSync(report, { force: true });

/** @type {{ name: string, passed: boolean, seconds: number }[]} */
const results = [];
for (const [name, command, ...args] of steps) {
  console.log(`\n=== ${name}`);
  const peers = ["playwright", "npm peers", "mcp peers", "tracing example"];
  if (args.includes("tsconfig.peers.json") && peers.some(isMissing)) {
    console.log("left out: the packages are not here");
    continue;
  }
  const started = performance.now();
  const passed = run(command, args);
  const seconds = (performance.now() - started) / 1000;
  results.push({ name, passed, seconds });
  console.log(`${passed ? "ok" : "FAILED"} in ${seconds.toFixed(1)} s`);
  if (!passed) break;
}
summarize();

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  const path = [join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter);
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, PATH: path },
    // On Windows the commands of node_modules/.bin are shell scripts.
    shell: process.platform === "win32",
  });
  if (error) console.error(error.message);
  return status === 0;
}

function summarize() {
  console.log("\n=== summary");
  for (const { name, passed, seconds } of results) {
    console.log(`${passed ? "ok    " : "FAILED"} ${seconds.toFixed(1).padStart(6)} s  ${name}`);
  }
  for (const [name] of steps) {
    if (results.every((result) => result.name !== name)) console.log(`not run           ${name}`);
  }

  const tests = readReport();
  for (const each of tests.failures) console.log(`\n${each}`);
  for (const [suite, count] of tests.leftOut) console.log(`skipped ${count} of: ${suite}`);
  const checks = results.filter(({ name }) => name !== "tests");
  const failedChecks = checks.filter(({ passed }) => !passed).length;
  // A run that broke outside any test has no failed test to count, so it counts as one.
  const broken = results.some(({ name, passed }) => name === "tests" && !passed);
  const failedTests = Math.max(tests.failed, broken ? 1 : 0);
  const skipped = tests.skipped > 0 ? `, ${tests.skipped} skipped` : "";
  const passed = checks.length - failedChecks + tests.passed;
  const total = results.reduce((sum, { seconds }) => sum + seconds, 0);
  console.log(`\n${checks.length} checks and ${tests.count} tests in ${total.toFixed(0)} s`);
  console.log(`${passed} passed, ${failedChecks + failedTests} failed${skipped}`);
  process.exitCode = failedChecks + failedTests === 0 ? 0 : 1;
}

/**
 * Whether something that tests need could not be fetched.
 * @param {string} service
 */
function isMissing(service) {
  const file = join(root, ".cache", "services.json");
  return !existsSync(file) || "missing" in JSON.parse(readFileSync(file, "utf8"))[service];
}

/**
 * A message without what its stack says about the test runner.
 * @param {string} message
 */
function ownLines(message) {
  const lines = message.split("\n");
  return lines.filter((line) => !/^\s+at (?:.*node_modules|new Promise)/.test(line)).join("\n");
}

/**
 * @typedef {{ status: string, ancestorTitles: string[], title: string, failureMessages: string[] }} TestReport
 * @typedef {{ name: string, message: string, assertionResults: TestReport[] }} FileReport
 */

function readReport() {
  /** What failed, where, and how; said again at the end, since the output of a whole run is long. @type {string[]} */
  const failures = [];
  /** How many tests of a suite were skipped; its title says why. @type {Map<string, number>} */
  const leftOut = new Map();
  if (!existsSync(report)) return { count: 0, passed: 0, failed: 0, skipped: 0, failures, leftOut };
  const {
    numTotalTests,
    numPassedTests,
    numFailedTests,
    numPendingTests,
    numTodoTests,
    testResults,
  } = JSON.parse(readFileSync(report, "utf8"));
  for (const { name, message, assertionResults } of /** @type {FileReport[]} */ (testResults)) {
    const file = relative(root, name);
    if (message !== "") failures.push(`FAILED ${file}\n${message}`);
    for (const { status, ancestorTitles, title, failureMessages } of assertionResults) {
      const path = [file, ...ancestorTitles, title].join(" > ");
      if (status === "failed")
        failures.push([`FAILED ${path}`, ...failureMessages.map(ownLines)].join("\n"));
      if (status !== "skipped" && status !== "pending") continue;
      const suite = ancestorTitles[0] ?? title;
      leftOut.set(suite, (leftOut.get(suite) ?? 0) + 1);
    }
  }
  return {
    count: numTotalTests,
    passed: numPassedTests,
    failed: numFailedTests,
    skipped: numPendingTests + numTodoTests,
    failures,
    leftOut,
  };
}
